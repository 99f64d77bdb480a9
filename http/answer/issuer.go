package answer

import (
	"troupe/persistence"
)

func IssuerOf(by *persistence.Issuer) persistence.Issuer {
	if by == nil || by.Via == "" {
		return persistence.Issuer{Via: persistence.ViaUnknown}
	}
	return *by
}
