package demo

import (
	"fmt"
	"net/http"
)

// field is one line of what a visitor sent.
type field struct{ Name, Label, Value string }

// contactFields are the form's fields in their order. The page has the inputs.
var contactFields = []field{
	{Name: "name", Label: "Name"},
	{Name: "email", Label: "E-mail"},
	{Name: "topic", Label: "Topic"},
	{Name: "reply", Label: "Answer by"},
	{Name: "urgent", Label: "Urgent"},
	{Name: "date", Label: "Call me on"},
	{Name: "message", Label: "Message"},
}

type contactPage struct {
	Sent  []field
	Error string
}

func (s *shop) contactForm(w http.ResponseWriter, r *http.Request) {
	s.show(w, r, http.StatusOK, "contact", "Contact", contactPage{})
}

// contact shows what was sent, and keeps nothing of it.
func (s *shop) contact(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxUpload)
	// All that may be sent fits into memory: no temporary files.
	if err := r.ParseMultipartForm(maxUpload); err != nil && err != http.ErrNotMultipart {
		s.show(w, r, http.StatusBadRequest, "contact", "Contact", contactPage{Error: "The form could not be read: at most 8 MiB, please."})
		return
	}
	var p contactPage
	for _, f := range contactFields {
		if f.Value = r.PostFormValue(f.Name); f.Value != "" {
			p.Sent = append(p.Sent, f)
		}
	}
	if r.MultipartForm != nil {
		for _, h := range r.MultipartForm.File["file"] {
			if h.Filename != "" {
				p.Sent = append(p.Sent, field{"file", "File", fmt.Sprintf("%s (%d bytes)", h.Filename, h.Size)})
			}
		}
	}
	s.show(w, r, http.StatusOK, "contact", "Contact", p)
}
