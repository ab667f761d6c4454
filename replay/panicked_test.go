package replay_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/replay"
)

// oneByOne is a model whose answer has one line per read.
type oneByOne []string

func (m oneByOne) RoundTrip(*http.Request) (*http.Response, error) {
	body, said := io.Pipe()
	go func() {
		for _, line := range m {
			_, _ = io.WriteString(said, "data: "+line+"\n\n")
		}
		_ = said.Close()
	}()
	return &http.Response{StatusCode: http.StatusOK, ContentLength: -1, Body: body, Header: http.Header{"Content-Type": {"text/event-stream"}}}, nil
}

// reading is an agent that asks a model and reports each line of the answer.
func reading(path string, report func(h *adk.Helpers, line string) error) adk.Config {
	client := &http.Client{Transport: adkhttp.NewTransport(oneByOne{`"a"`, `"b"`, `"c"`})}
	return executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
		if err != nil {
			return err
		}
		res, err := client.Do(req)
		if err != nil {
			return report(h, "")
		}
		defer res.Body.Close()
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			if line, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if err := report(h, line); err != nil {
					return err
				}
			}
		}
		return dc.Ack()
	})
}

func reportingLine(h *adk.Helpers, line string) error {
	_, err := h.ReportMessage("m", line, line == `"c"`)
	return err
}

// A panic of live code comes first in a report, in full and with the line that panicked: what is
// missing after it follows from it, and so does an error that the code returns. Only a request
// without an answer comes before it, as that may well cause the panic.
func TestAPanicIsTheHeadline(t *testing.T) {
	recorded := turnOf(t, reading("/say", reportingLine), adk.RawTurn{})
	var none map[string]int
	panics := func(h *adk.Helpers, line string) error {
		if line != `"a"` {
			none[line]++ // this line
		}
		return reportingLine(h, line)
	}
	of := func(path string, report func(*adk.Helpers, string) error) *replay.Divergence {
		d := divergenceOf(t, recorded, replay.Live{Config: reading(path, report), Seams: []string{replay.Executor}})
		require.NotNil(t, d)
		return d
	}
	d := of("/say", panics)
	assert.Equal(t, replay.Panicked, d.Class)
	assert.Equal(t, "executor/e#0", d.Seam)
	assert.Equal(t, "assignment to entry in nil map", d.Panic())
	assert.Regexp(t, `^replay/panicked_test\.go:\d+ \(replay_test\.TestAPanicIsTheHeadline\.func1\)$`, d.Place)
	assert.Contains(t, d.Expected, `report-message m1 "\"b\""`)
	assert.Contains(t, strings.Join(strings.Fields(d.String()), " "), "returns → panic: assignment to entry in nil map agreed before:")
	assert.Zero(t, d.After.Own)
	assert.Contains(t, d.Before[len(d.Before)-1], `piece`)

	d = of("/say", func(h *adk.Helpers, line string) error {
		h.Log(adk.LevelInfo, "line", "one more", nil)
		return panics(h, line)
	})
	assert.Equal(t, replay.Panicked, d.Class, "whatever came before: %s", d)

	first := reading("/say", panics)
	run := first.Executor.Run
	first.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		return errors.Join(dc.Stash().Set("before", "the ask"), run(ctx, dc, h))
	}
	d = divergenceOf(t, recorded, replay.Live{Config: first, Seams: []string{replay.Executor}})
	assert.Equal(t, replay.Panicked, d.Class, "whatever came before the ask: %s", d)

	d = of("/other", panics)
	assert.Equal(t, replay.Unanswered, d.Class, "%s", d)

	d = of("/say", func(h *adk.Helpers, line string) error {
		if line == `"b"` {
			return errors.New("no b here")
		}
		return reportingLine(h, line)
	})
	assert.Equal(t, replay.ChangedError, d.Class)
	assert.Contains(t, d.Expected, `report-message m1 "\"b\""`)
	assert.Contains(t, d.Got, "no b here")

	d = of("/say", func(h *adk.Helpers, line string) error { // it continues, and what is missing is another change
		if line == `"c"` {
			return errors.New("no c here")
		} else if line == `"a"` {
			return nil
		}
		return reportingLine(h, line)
	})
	assert.NotEqual(t, replay.ChangedError, d.Class, "%s", d)
}
