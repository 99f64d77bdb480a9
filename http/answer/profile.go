package answer

import (
	"strings"
	"time"

	"troupe/persistence"
)

// Profile is a profile as clients see it.
type Profile struct {
	Name     string           `json:"name"`
	Version  int              `json:"version"` // the newest
	Created  time.Time        `json:"created"`
	Versions []ProfileVersion `json:"versions"` // those that are kept, the newest last
}

// ProfileVersion is one of its versions.
type ProfileVersion struct {
	Version int       `json:"version"`
	Saved   time.Time `json:"saved"`
	TaskID  string    `json:"taskId,omitempty"`    // that saved it; missing: a session did, or it was imported
	Session string    `json:"sessionId,omitempty"` // that saved it
	Bytes   int       `json:"bytes"`               // of its storage state
	Cookies int       `json:"cookies"`
	Origins []string  `json:"origins"`         // with entries or databases
	Sites   []string  `json:"sites,omitempty"` // of the token that saved it; missing: any
}

// OfProfile describes a profile.
func OfProfile(p persistence.Profile) Profile {
	out := Profile{Name: p.Name, Version: p.Newest().Version, Created: p.Created, Versions: []ProfileVersion{}}
	for _, v := range p.Versions {
		of := ProfileVersion{Version: v.Version, Saved: v.Saved, Bytes: v.Bytes, Cookies: v.Cookies, Origins: v.Origins, Sites: v.Sites}
		if strings.HasPrefix(v.By, "sess_") {
			of.Session = v.By
		} else {
			of.TaskID = v.By
		}
		if of.Origins == nil {
			of.Origins = []string{}
		}
		out.Versions = append(out.Versions, of)
	}
	return out
}
