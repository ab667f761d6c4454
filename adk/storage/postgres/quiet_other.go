//go:build !unix

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
)

// isDubious reports whether a connection has rested for so long that it may have been closed:
// then a ping finds that out.
func isDubious(_ context.Context, p stdlib.ShouldPingParams) bool {
	return p.IdleDuration > time.Second
}
