package main

import (
	"strings"

	"troupe/actors"
	"troupe/http"
)

// sending is how notices are sent: through the way out of the browsers. Files is where
// clients reach files: the rest of the service is beside it.
func (s *service) sending(files string) actors.NoticesConfig {
	return actors.NoticesConfig{Client: s.proxy.Client(), Result: http.NoticeResult, Address: strings.TrimSuffix(files, "/files")}
}
