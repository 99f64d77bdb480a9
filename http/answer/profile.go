package answer

import (
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
	TaskID  string    `json:"taskId,omitempty"` // that saved it; missing: it was imported
	Bytes   int       `json:"bytes"`            // of its storage state
	Cookies int       `json:"cookies"`
	Origins []string  `json:"origins"`         // with entries or databases
	Sites   []string  `json:"sites,omitempty"` // of the token that saved it; missing: any
}

// OfProfile describes a profile.
func OfProfile(p persistence.Profile) Profile {
	out := Profile{Name: p.Name, Version: p.Newest().Version, Created: p.Created, Versions: []ProfileVersion{}}
	for _, v := range p.Versions {
		of := ProfileVersion{v.Version, v.Saved, v.By, v.Bytes, v.Cookies, v.Origins, v.Sites}
		if of.Origins == nil {
			of.Origins = []string{}
		}
		out.Versions = append(out.Versions, of)
	}
	return out
}
