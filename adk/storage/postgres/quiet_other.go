//go:build !unix

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
)

// isDubious reports whether a connection has been idle for so long that it may have been closed;
// then it is pinged before use.
func isDubious(_ context.Context, p stdlib.ShouldPingParams) bool {
	return p.IdleDuration > time.Second
}
