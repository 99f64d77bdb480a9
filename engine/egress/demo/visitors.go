package demo

import (
	"crypto/rand"
	"net/http"
	"strings"
	"sync"
)

const (
	password    = "demo"
	cookie      = "demo_session"
	maxVisitors = 1000
	maxUserName = 64
)

// visitors remembers who is signed in, in memory. The oldest is forgotten when
// there are too many.
type visitors struct {
	mu    sync.Mutex
	names map[string]string // by the cookie's value
	order []string
}

// enter remembers a visitor and returns the value of the cookie.
func (v *visitors) enter(user string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.names == nil {
		v.names = map[string]string{}
	}
	for len(v.order) >= maxVisitors {
		delete(v.names, v.order[0])
		v.order = v.order[1:]
	}
	key := rand.Text()
	v.names[key] = user
	v.order = append(v.order, key)
	return key
}

// user returns who made a request, or nothing.
func (v *visitors) user(r *http.Request) string {
	c, err := r.Cookie(cookie)
	if err != nil {
		return ""
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.names[c.Value]
}

// leave forgets who made a request.
func (v *visitors) leave(r *http.Request) {
	if c, err := r.Cookie(cookie); err == nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.names, c.Value) // its place in order goes with the oldest
	}
}

type loginPage struct{ User, Error string }

func (s *shop) loginForm(w http.ResponseWriter, r *http.Request) {
	s.show(w, r, http.StatusOK, "login", "Sign in", loginPage{})
}

func (s *shop) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	user := strings.TrimSpace(r.PostFormValue("user"))
	switch {
	case user == "" || len(user) > maxUserName:
		s.show(w, r, http.StatusUnauthorized, "login", "Sign in", loginPage{Error: "Please enter a user name of at most 64 characters."})
	case r.PostFormValue("password") != password:
		s.show(w, r, http.StatusUnauthorized, "login", "Sign in", loginPage{User: user, Error: "The password is wrong. (It is “demo”.)"})
	default:
		http.SetCookie(w, &http.Cookie{Name: cookie, Value: s.visitors.enter(user), Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
}

func (s *shop) logout(w http.ResponseWriter, r *http.Request) {
	s.visitors.leave(r)
	http.SetCookie(w, &http.Cookie{Name: cookie, Path: "/", MaxAge: -1})
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// account is a page for those who are signed in.
func (s *shop) account(w http.ResponseWriter, r *http.Request) {
	if s.visitors.user(r) == "" {
		http.Redirect(w, r, "/login", http.StatusSeeOther)
		return
	}
	s.show(w, r, http.StatusOK, "account", "Your account", catalogue[:3])
}
