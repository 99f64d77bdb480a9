package persistence

// NewSmallAudit keeps an audit log in files of other sizes.
func NewSmallAudit(dir string, bytes int64) *Audit { return &Audit{dir: dir, max: bytes} }
