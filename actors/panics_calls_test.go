package actors_test

import (
	"context"

	"troupe/actors/api"
)

// calls are requests with keys that run no task: one that is carried out, and one that is
// refused.
func (v *testClient) calls() {
	for _, answer := range []string{`{"status":200}`, ""} {
		v.asks("a call", func(ctx context.Context) error {
			owner := api.Idempotency{Key: "k5" + answer, Digest: []byte("d")}
			b, err := api.Ask(ctx, v.Node, &api.BeginCall{Account: anna, Idempotency: owner})
			if err != nil || b.Refusal != nil {
				return err
			}
			end := &api.EndCall{Account: anna, Key: owner.Key, Run: b.Run}
			if answer != "" {
				end.Answer = []byte(answer)
			}
			_, err = api.Ask(ctx, v.Node, end)
			return err
		})
	}
}
