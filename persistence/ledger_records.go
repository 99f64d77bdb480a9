package persistence

import "time"

// recordsKept are the bytes of an account's records by the minute in which they
// expire: that many numbers, however many records there are.
type recordsKept map[int64]int64

// Record counts a record that the store keeps for an account until it expires;
// with negative bytes it takes that back. Records from before the start are not
// counted, so no more is taken back than was counted.
func (l *Ledger) Record(account string, bytes int64, expires time.Time) {
	if l == nil || account == "" || expires.IsZero() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	minute := expires.Unix()/60 + 1
	kept := l.records[account]
	if kept == nil {
		kept = recordsKept{}
		l.records[account] = kept
	}
	bytes = max(bytes, -kept[minute])
	if kept[minute] += bytes; kept[minute] == 0 {
		delete(kept, minute)
	}
	l.change(account, Kept{Bytes: bytes})
}

// forgetRecords gives the room of records back that have expired.
func (l *Ledger) forgetRecords(now time.Time) {
	for account, kept := range l.records {
		for minute, bytes := range kept {
			if minute*60 <= now.Unix() {
				delete(kept, minute)
				l.change(account, Kept{Bytes: -bytes})
			}
		}
		if len(kept) == 0 {
			delete(l.records, account)
		}
	}
}
