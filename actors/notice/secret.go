package notice

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/persistence"
)

const (
	secretPrefix = "whsec_"
	secretBytes  = 32
	// secretOverlap is how long a secret signs on after the next one was made.
	secretOverlap = 24 * time.Hour
)

func newSecret() string {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(b)
}

// secret reads what signs the notices of an account, and makes it where there is none. One
// that cannot be opened stays: receivers know no other, and the key may come back.
func (m *Notices) secret(ctx context.Context, account string) (records.NoticeSecret, error) {
	s, err := m.cfg.Records.Notices().Secret(ctx, account)
	if !errors.Is(err, persistence.ErrNotFound) {
		return s, err
	}
	return m.changeSecret(ctx, account, false)
}

// changeSecret makes a secret where there is none, or with rotate another one, also in the
// place of one that cannot be opened. Of several nodes that do so at once, each finds what
// the others have written.
func (m *Notices) changeSecret(ctx context.Context, account string, rotate bool) (records.NoticeSecret, error) {
	disk := m.cfg.Records.Notices()
	for {
		s, revision, err := disk.SecretAt(ctx, account)
		none, lost := errors.Is(err, persistence.ErrNotFound), rotate && errors.Is(err, persistence.ErrSealed)
		switch {
		case none || lost:
			s = records.NoticeSecret{Current: newSecret()}
		case err != nil || !rotate:
			return s, err
		default:
			s = records.NoticeSecret{Current: newSecret(), Previous: s.Current, Until: time.Now().Add(secretOverlap)}
		}
		err = disk.PutSecret(ctx, account, s, revision)
		if !errors.Is(err, persistence.ErrConflict) && (err != nil || !none || !rotate) {
			return s, err
		}
	}
}

// Secret tells what signs the notices of an account, after another one was made if that
// is asked for.
func (m *Notices) Secret(ctx context.Context, r *api.NoticeSecret) (*api.NoticeSecretTold, error) {
	s, err := m.changeSecret(ctx, r.Account.ID, r.Rotate)
	if err != nil {
		return nil, fmt.Errorf("read the secret of notices: %w", err)
	}
	told := &api.NoticeSecretTold{Secret: s.Current}
	if time.Now().Before(s.Until) {
		told.Previous, told.Until = s.Previous, s.Until
	}
	return told, nil
}

// sign adds the headers of Standard Webhooks.
func sign(s records.NoticeSecret, id string, body []byte, to http.Header) error {
	now := time.Now()
	all := []string{s.Current}
	if s.Previous != "" && now.Before(s.Until) {
		all = append(all, s.Previous)
	}
	signatures := ""
	for i, secret := range all {
		w, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return err
		}
		one, err := w.Sign(id, now, body)
		if err != nil {
			return err
		}
		if i > 0 {
			signatures += " "
		}
		signatures += one
	}
	to.Set(standardwebhooks.HeaderWebhookID, id)
	to.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	to.Set(standardwebhooks.HeaderWebhookSignature, signatures)
	return nil
}
