package engine

// Visited says where a task has been.
type Visited struct {
	First string `json:"first,omitempty"` // the address that it opened first
	Shown        // the page that it has left behind
}

// Visited says where the task has been; nil: nowhere.
func (o *Outcome) Visited() *Visited {
	v := &Visited{First: o.First}
	if o.Page != nil {
		v.Shown = *o.Page
	}
	if *v == (Visited{}) {
		return nil
	}
	return v
}
