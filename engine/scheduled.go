package engine

import "troupe/engine/lang"

// ParseScheduled decodes the task of a schedule. Its error is as that of [ParseWith]. The
// task is queued, whether it says so or not.
func ParseScheduled(body []byte, flows Flows) (*Task, error) {
	return parseScheduled(body, newDecoder(nil, flows))
}

// ParseScheduledFor is ParseScheduled for an account that may use these proxies and no
// others.
func ParseScheduledFor(body []byte, flows Flows, proxies []string) (*Task, error) {
	d := newDecoder(nil, flows)
	d.proxies = &proxies
	return parseScheduled(body, d)
}

func parseScheduled(body []byte, d *decoder) (*Task, error) {
	source, err := queued(body, "a schedule")
	if err != nil {
		return nil, err
	}
	t, err := parse(source, d)
	if err != nil {
		return nil, err
	}
	if faults := scheduledFaults(t); len(faults) > 0 {
		return nil, &Invalid{Faults: faults}
	}
	return t, nil
}

// scheduledFaults finds options of the queue that fit one run only.
func scheduledFaults(t *Task) (faults []lang.Fault) {
	q := t.Queue
	if q.Key != "" {
		faults = append(faults, lang.Fault{Path: "/queue/key", Message: "the tasks of a schedule have no keys: each of its times has one run anyway"})
	}
	if !q.StartAfter.At.IsZero() {
		faults = append(faults, lang.Fault{Path: "/queue/startAfter", Message: "is one time for all runs: want milliseconds, or leave it out"})
	}
	if !q.ExpiresAfter.At.IsZero() {
		faults = append(faults, lang.Fault{Path: "/queue/expiresAfter", Message: "is one time for all runs: want milliseconds"})
	}
	return faults
}
