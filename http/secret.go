package http

import (
	"context"

	"troupe/engine"
	"troupe/persistence"
)

// SecretsFor gives tasks the secrets of their accounts. One that cannot be read
// any more is left out: it can be on no page, for what would have brought it
// there is sealed with the same key.
func SecretsFor(v *persistence.Secrets) engine.SecretsOf {
	return func(ctx context.Context, account string) ([]engine.Secret, error) {
		all, err := v.Of(ctx, account)
		if err != nil {
			return nil, err
		}
		var own []engine.Secret
		for _, s := range all {
			if !s.Lost {
				own = append(own, engine.Secret{Name: s.Name, Value: s.Value, Origins: s.Origins})
			}
		}
		return own, nil
	}
}
