package engine

import "context"

// parsedWhileWaiting is up to which size of its text a task stays parsed while it waits.
// Larger ones are parsed again when they are played: what they are parsed into has several
// times the size of their text, and nobody needs it before.
const parsedWhileWaiting = 8 << 10

// AsText is the task as it waits: a large one is the text that it was parsed from, and what
// others ask about it before it is played. It is played as what [Task.Parsed] gives.
func (t *Task) AsText() *Task {
	if t.asText || t.textSize() <= parsedWhileWaiting {
		return t
	}
	return t.withoutSteps()
}

func (t *Task) withoutSteps() *Task {
	kept := &Task{
		WorkerID: t.WorkerID, Timeout: t.Timeout, QueueTimeout: t.QueueTimeout, Session: t.Session, Async: t.Async, Queue: t.Queue,
		Notify: t.Notify, Profile: t.Profile, Label: t.Label, Metadata: t.Metadata, KeepResult: t.KeepResult, Files: t.Files,
		Config: Config{Isolation: t.Config.Isolation, OnFailure: t.Config.OnFailure, Trace: t.Config.Trace, FullTrace: t.Config.FullTrace},
		source: t.source, item: t.item, items: t.items, bound: t.bound, flows: t.flows, lasting: t.lasting,
		actions: t.Actions(), asText: true,
	}
	if t.Config.HAR != nil {
		kept.Config.HAR = &HAR{}
	}
	return kept
}

// Parsed is the task as it is played. A large one has to wait for its turn to be parsed:
// the error is that of the context if it ends before.
func (t *Task) Parsed(ctx context.Context) (*Task, error) {
	if !t.asText {
		return t, nil
	}
	end, err := BeginParse(ctx, t.textSize())
	if err != nil {
		return nil, err
	}
	defer end()
	d := newDecoder(t.Files, FlowList(t.flows))
	d.items = t.items
	parsed, err := parse(t.source, d)
	if err != nil {
		return nil, err
	}
	parsed.Files, parsed.item, parsed.bound = t.Files, t.item, t.bound
	return parsed, nil
}

// Unparsed reports whether the task is kept as text, and has to be parsed before it is played.
func (t *Task) Unparsed() bool { return t.asText }

// Actions is how many actions the task's list has, without those within others.
func (t *Task) Actions() int {
	if t.asText {
		return t.actions
	}
	return len(t.Steps)
}

// textSize is the size of all that the task is parsed from.
func (t *Task) textSize() int {
	n := len(t.source)
	for _, f := range t.flows {
		n += len(f.Source)
	}
	return n
}
