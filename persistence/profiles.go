package persistence

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"troupe/persistence/owned"
	"troupe/persistence/sealed"
)

// Profile is what browsers keep of sites for an account under a name, in versions.
type Profile struct {
	Name     string           `json:"name"`
	Created  time.Time        `json:"created"`
	Versions []ProfileVersion `json:"versions"` // those that are kept, the newest last
}

// ProfileVersion describes one version of a profile.
type ProfileVersion struct {
	Version int       `json:"version"`
	ID      string    `json:"id"`    // of its parts
	Parts   int       `json:"parts"` // in how many records its state is
	Packed  int       `json:"packed"`
	Bytes   int       `json:"bytes"`
	Saved   time.Time `json:"saved"`
	By      string    `json:"by,omitempty"` // the task that saved it; empty: it was imported
	Cookies int       `json:"cookies"`
	Origins []string  `json:"origins,omitempty"`
	// Sites are those of the token that saved it, itself or by a task; none: any.
	Sites []string `json:"sites,omitempty"`
	// Secrets are the names of those of the account that the tasks before it have used.
	Secrets []string `json:"secrets,omitempty"`
}

// Newest is the newest version.
func (p Profile) Newest() ProfileVersion {
	if n := len(p.Versions); n > 0 {
		return p.Versions[n-1]
	}
	return ProfileVersion{}
}

// The description of a profile is at profilePrefix, followed by the account's identifier
// and the name; the parts of a state are at profilePartPrefix, with the version's
// identifier and a number behind that. The task that may save the profile is at
// profileWriterPrefix. Descriptions and parts are sealed.
const (
	profilePrefix       = "profile/"
	profilePartPrefix   = "profile-part/"
	profileWriterPrefix = "profile-writer/"
)

var (
	_ = sealed.Register(sealed.Kind{Prefix: profilePrefix, Form: sealed.Whole, Holds: "profiles"})
	_ = sealed.Register(sealed.Kind{Prefix: profilePartPrefix, Form: sealed.Whole, Holds: "parts of profiles"})
	_ = owned.Register(owned.Kind{Prefix: profilePrefix, By: owned.Key, Apart: "MaxProfiles"})
	_ = owned.Register(owned.Kind{Prefix: profilePartPrefix, By: owned.Key, Apart: "32 MiB of an account"})
	_ = owned.Register(owned.Kind{Prefix: profileWriterPrefix, By: owned.Key, Apart: "one for each profile"})
)

// Bounds of the profiles of one account.
const (
	MaxProfiles      = 100
	ProfileVersions  = 5        // of one profile, the newest included
	MaxProfileState  = 8 << 20  // of one version
	MaxProfilePacked = 32 << 20 // of all versions of all profiles, as they are kept
)

const (
	profilePart  = 900 << 10
	writerLease  = 30 * time.Second
	writerRenew  = 8 * time.Second
	writerLeaves = 5 * time.Second
	// writerLooksBack is how often a writer looks for what it could not remove.
	writerLooksBack = time.Second
)

// ErrProfileBusy: another task may save the profile.
var ErrProfileBusy = errors.New("another task uses the profile")

// Profiles keeps profiles of accounts, sealed.
type Profiles struct {
	store Store
	seal  *Seal
}

// NewProfiles keeps profiles in a store.
func NewProfiles(store Store, seal *Seal) *Profiles { return &Profiles{store: store, seal: seal} }

func profileKey(account, name string) string { return profilePrefix + account + "/" + name }

func partKey(account, name, id string, n int) string {
	return profilePartPrefix + account + "/" + name + "/" + id + "/" + strconv.Itoa(n)
}

// Get returns the description of a profile, or ErrNotFound.
func (p *Profiles) Get(ctx context.Context, account, name string) (Profile, error) {
	out, _, err := p.read(ctx, account, name)
	return out, err
}

func (p *Profiles) read(ctx context.Context, account, name string) (out Profile, revision uint64, err error) {
	r, err := p.store.Get(ctx, profileKey(account, name))
	if err != nil {
		return out, 0, err
	}
	out, err = p.open(r)
	return out, r.Revision, err
}

func (p *Profiles) open(r Record) (out Profile, err error) {
	plain, err := p.seal.Open(r.Key, r.Value)
	if err == nil {
		err = json.Unmarshal(plain, &out)
	}
	if err == nil && !strings.HasSuffix(r.Key, "/"+out.Name) {
		err = fmt.Errorf("it is that of %q", out.Name)
	}
	if err != nil {
		return out, fmt.Errorf("read the profile at %s: %w", r.Key, err)
	}
	return out, nil
}

// List returns the descriptions of an account's profiles, by name, and the names of those
// that the key does not open.
func (p *Profiles) List(ctx context.Context, account string) (all []Profile, unreadable []string, err error) {
	prefix := profilePrefix + account + "/"
	records, err := p.store.List(ctx, prefix)
	if err != nil {
		return nil, nil, fmt.Errorf("list profiles: %w", err)
	}
	all = make([]Profile, 0, len(records))
	for _, r := range records {
		one, err := p.open(r)
		switch {
		case errors.Is(err, ErrSealed):
			unreadable = append(unreadable, strings.TrimPrefix(r.Key, prefix))
		case err != nil:
			return nil, nil, err
		default:
			all = append(all, one)
		}
	}
	return all, unreadable, nil
}

// State returns a version of a profile, or the newest one for 0. One that is not kept is
// [ErrNotFound].
func (p *Profiles) State(ctx context.Context, account, name string, version int) ([]byte, ProfileVersion, error) {
	for {
		of, revision, err := p.read(ctx, account, name)
		if err != nil {
			return nil, ProfileVersion{}, err
		}
		v := of.Newest()
		if version > 0 {
			i := slices.IndexFunc(of.Versions, func(v ProfileVersion) bool { return v.Version == version })
			if i < 0 {
				return nil, v, ErrNotFound
			}
			v = of.Versions[i]
		}
		state, err := p.unpack(ctx, account, name, v)
		if errors.Is(err, ErrNotFound) && ctx.Err() == nil { // removed meanwhile, or the version is no longer kept
			if _, now, again := p.read(ctx, account, name); again != nil || now != revision {
				continue
			}
			err = fmt.Errorf("a part of its state is missing")
		}
		if err != nil {
			return nil, v, fmt.Errorf("read version %d of the profile %q: %w", v.Version, name, err)
		}
		return state, v, nil
	}
}

func (p *Profiles) unpack(ctx context.Context, account, name string, v ProfileVersion) ([]byte, error) {
	var packed bytes.Buffer
	for n := range v.Parts {
		key := partKey(account, name, v.ID, n)
		r, err := p.store.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		plain, err := p.seal.Open(key, r.Value)
		if err != nil {
			return nil, err
		}
		packed.Write(plain)
	}
	z, err := gzip.NewReader(&packed)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, MaxProfileState+1))
}

// Remove deletes a profile with all its versions. One that a task may save is
// ErrProfileBusy, one that is not there ErrNotFound.
func (p *Profiles) Remove(ctx context.Context, account, name string) error {
	if _, err := p.store.Get(ctx, profileKey(account, name)); err != nil {
		return err
	}
	w, err := p.lock(ctx, account, name, "removal", false) // it may be one that cannot be read
	if err != nil {
		return err
	}
	defer w.Close()
	err = p.store.Delete(ctx, profileKey(account, name), nil, true)
	if err == nil { // without a description nobody reads them
		err = forgetAll(ctx, p.store, profilePartPrefix+account+"/"+name+"/")
	}
	if err != nil {
		return fmt.Errorf("remove the profile %q: %w", name, err)
	}
	return nil
}

// room refuses a version that the account has no room for.
func (p *Profiles) room(ctx context.Context, account, name string, size int) error {
	all, unreadable, err := p.List(ctx, account)
	if err != nil {
		return err
	}
	others := len(unreadable)
	for _, of := range all {
		versions := of.Versions
		if of.Name == name {
			versions = versions[max(0, len(versions)-ProfileVersions+1):]
		} else {
			others++
		}
		for _, v := range versions {
			size += v.Packed
		}
	}
	switch {
	case others >= MaxProfiles:
		return fmt.Errorf("%w: an account has at most %d profiles", ErrTooMany, MaxProfiles)
	case size > MaxProfilePacked:
		return fmt.Errorf("%w: all versions of an account's profiles have at most %d bytes together, as they are kept", ErrTooMany, MaxProfilePacked)
	}
	return nil
}

// newVersionID is that of parts which nobody else writes.
func newVersionID() string {
	b := make([]byte, 8)
	rand.Read(b)
	return hex.EncodeToString(b)
}

func pack(state []byte) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(state)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}
