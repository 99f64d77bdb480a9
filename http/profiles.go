package http

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/answer"
	"troupe/persistence"
)

type (
	profileList struct {
		Success  bool            `json:"success"`
		Profiles []listedProfile `json:"profiles"`
		// Unreadable are the names of profiles that the service's key does not open.
		Unreadable []string `json:"unreadable,omitempty"`
	}
	profileStored struct {
		Success bool           `json:"success"`
		Profile answer.Profile `json:"profile"`
	}
	profileRemoved struct {
		Success bool   `json:"success"`
		Name    string `json:"name"`
	}
	listedProfile struct {
		answer.Profile
		Writer string `json:"writer,omitempty"` // the task or the session that saves it next, "import" or "removal"; missing: it is free
	}
)

// noProfile refuses a profile that is not there.
func noProfile(reference string) *answer.Refusal {
	return answer.RefuseText(engine.CodeProfileNotFound, fmt.Sprintf("There is no profile %q", lang.Short(reference, 100)))
}

// listProfiles answers with the account's profiles.
func (s *Server) listProfiles(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	if s.cfg.Profiles == nil {
		return answer.Refuse(engine.CodeNotFound)
	}
	all, unreadable, err := s.cfg.Profiles.List(s.base, account.ID)
	if err != nil {
		return s.faults.Refuse(ctx, "list profiles", err)
	}
	writers, err := s.cfg.Profiles.Writers(s.base, account.ID)
	if err != nil {
		return s.faults.Refuse(ctx, "list profiles", err)
	}
	list := profileList{true, make([]listedProfile, 0, len(all)), unreadable}
	for _, p := range within(account, all, func(p persistence.Profile) []string { return p.Newest().Sites }) {
		list.Profiles = append(list.Profiles, listedProfile{answer.OfProfile(p), writers[p.Name]})
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, list)
	return nil
}

// getProfile answers with the storage state of a profile, without the account's secrets.
func (s *Server) getProfile(ctx *fasthttp.RequestCtx, account persistence.Account, reference string) *answer.Refusal {
	if s.cfg.Profiles == nil {
		return answer.Refuse(engine.CodeNotFound)
	}
	name, text, versioned := strings.Cut(reference, "@")
	version, err := strconv.Atoi(text)
	if versioned && (err != nil || version < 1) || !engine.IsProfileName(name) {
		return noProfile(reference)
	}
	state, of, err := s.cfg.Profiles.State(s.base, account.ID, name, version)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return noProfile(reference)
	case err != nil:
		return s.faults.Refuse(ctx, "read a profile", err)
	}
	if no := outside(account, "the profile", of.Sites); no != nil {
		return no
	}
	if s.cfg.Secrets != nil && of.By != "" { // an import is given back as it was sent: it tells nothing
		all, err := s.cfg.Secrets(s.base, account.ID)
		if err != nil {
			return s.faults.Refuse(ctx, "read the account's secrets", err)
		}
		state = engine.WithoutSecrets(state, all, of.Secrets)
	}
	ctx.SetContentType("application/json")
	ctx.SetBody(state)
	return nil
}

// putProfile stores a storage state as the next version of a profile.
func (s *Server) putProfile(ctx *fasthttp.RequestCtx, account persistence.Account, name string) *answer.Refusal {
	if s.cfg.Profiles == nil {
		return answer.Refuse(engine.CodeNotFound)
	}
	if _, no := contentOf(ctx, false); no != nil {
		return no
	}
	if !engine.IsProfileName(name) {
		return answer.RefuseInvalid(lang.Fault{Message: fmt.Sprintf("want the name of a profile, 1 to 64 letters, digits, '_', '.' or '-', not %q", lang.Short(name, 100))})
	}
	b, no := s.bodies.readJSON(ctx, engine.MaxProfile, account.ID)
	defer b.remove()
	if no != nil {
		return no
	}
	end, no := s.bodies.beginParse(ctx, b)
	if no != nil {
		return no
	}
	defer end()
	state, err := engine.ReadStorageState(b.payload)
	var invalid *engine.Invalid
	if errors.As(err, &invalid) {
		return answer.RefuseInvalid(invalid.Faults...)
	}
	encoded, err := state.Encode()
	if err != nil {
		return answer.RefuseText(engine.CodePayloadTooLarge, "The storage state is too large: "+engine.ErrorText(err))
	}
	w, err := s.cfg.Profiles.Lock(s.base, account.ID, name, "import")
	if err != nil {
		return s.refuseProfile(ctx, "store a profile", err)
	}
	defer w.Close()
	stored, err := actors.SaveProfile(s.base, w, encoded, "", account.Sites, nil)
	if err != nil {
		return s.refuseProfile(ctx, "store a profile", err)
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, profileStored{true, answer.OfProfile(stored)})
	return nil
}

// deleteProfile deletes all versions of a profile.
func (s *Server) deleteProfile(ctx *fasthttp.RequestCtx, account persistence.Account, name string) *answer.Refusal {
	if s.cfg.Profiles == nil {
		return answer.Refuse(engine.CodeNotFound)
	}
	if !engine.IsProfileName(name) {
		return noProfile(name)
	}
	err := s.cfg.Profiles.Remove(s.base, account.ID, name)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return noProfile(name)
	case err != nil:
		return s.refuseProfile(ctx, "delete a profile", err)
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, profileRemoved{true, name})
	return nil
}

func (s *Server) refuseProfile(ctx *fasthttp.RequestCtx, doing string, err error) *answer.Refusal {
	switch {
	case errors.Is(err, persistence.ErrProfileBusy):
		return answer.RefuseBy(api.RefusalFor(err))
	case errors.Is(err, persistence.ErrTooMany):
		return answer.RefuseText(answer.CodeProfileLimit, engine.ErrorText(err))
	}
	return s.faults.Refuse(ctx, doing, err)
}
