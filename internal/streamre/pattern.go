package streamre

import "regexp"

// NotKind is what a kind of secret may not hold.
var NotKind = regexp.MustCompile(`[^a-z0-9-]+`)
