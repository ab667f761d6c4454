package realparts_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/postgrestest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// registration is an agent that recognizes a name that is taken by the error code of Postgres.
func registration(db *sql.DB) adk.Config {
	return adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		register := func(ctx context.Context, name string) (int, error) {
			var id int
			return id, db.QueryRowContext(ctx, `insert into people (name) values ($1) returning id`, name).Scan(&id)
		}
		said := "welcome"
		var refused *pgconn.PgError
		switch _, err := adk.Ask(ctx, "people: register", "ada", register, adk.AskOptions{Effect: adk.EffectWrites}); {
		case errors.As(err, &refused) && refused.Code == "23505":
			said = "taken, by " + refused.ConstraintName
		case err != nil:
			return err
		}
		if _, err := h.ReportMessage(dc.NewID(), said, true); err != nil {
			return err
		}
		return dc.Ack()
	}}}
}

// WLD-3: what errors.As finds in the error of a driver, it also finds in a replay without the database, if
// the type is named.
func TestTheErrorOfADriverIsReplayed(t *testing.T) {
	db := must(sql.Open("pgx", postgrestest.Database(t)))
	must(db.Exec(`create table people (id serial primary key, name text constraint one_of_each unique)`))
	must(db.Exec(`insert into people (name) values ('ada')`))
	types := map[string]trace.ErrorType{"pgconn.PgError": trace.ErrorOf[*pgconn.PgError]()}
	recorded := func(options replay.RecordOptions) (written bytes.Buffer) {
		runner := must(adk.NewRunner(fakes.Deterministic(registration(db), replay.Record(&written, options))))
		require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "x"}))
		return written
	}
	named, unnamed := recorded(replay.RecordOptions{ErrorTypes: types}), recorded(replay.RecordOptions{})
	require.NoError(t, db.Close())
	require.Contains(t, named.String(), `"taken, by one_of_each"`)

	live := replay.Live{Config: registration(nil), Seams: []string{replay.Executor}}
	assert.Nil(t, must(replay.Verify(t.Context(), &named, live, trace.Options{ErrorTypes: types})).Divergence)
	report := must(replay.Verify(t.Context(), &unnamed, live))
	require.NotNil(t, report.Divergence, "it has the text alone")
	assert.True(t, report.Divergence.Untyped)
}
