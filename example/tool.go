package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/adkreplay/adkreplay/adk"
)

// forecastArgs are the arguments of the tool. The schema that the model sees is generated from
// them.
type forecastArgs struct {
	Cities []string `json:"cities" jsonschema:"the names of the cities, in English"`
	Days   int      `json:"days,omitempty" jsonschema:"how many days to look ahead, from 1 to 7"`
}

// defaultDays is how far the tool looks ahead if the model does not say.
const defaultDays = 1

// forecastTool makes the tool that asks the weather service.
func forecastTool(service Forecasts) (*adk.Tool, error) {
	schema, err := forecastSchema()
	if err != nil {
		return nil, err
	}
	return adk.NewTypedTool(adk.ToolInit{
		Name:        "forecast",
		Description: "Tells the weather of cities for the coming days.",
		InputSchema: schema,
		Effect:      adk.EffectReads,
	}, func(ctx context.Context, dc *adk.DispatchContext, in forecastArgs) (adk.ToolResult, error) {
		units, _ := dc.Stash().Get("user.units", "metric").(string)
		text, err := forecasts(ctx, dc, service, in, units)
		if err != nil {
			return nil, err
		}
		return adk.Text(text), nil
	})
}

// forecastSchema generates the schema of forecastArgs, and adds what Go types cannot express.
func forecastSchema() (json.RawMessage, error) {
	schema, err := jsonschema.For[forecastArgs](nil)
	if err != nil {
		return nil, err
	}
	schema.Properties["cities"].MinItems = jsonschema.Ptr(1)
	days := schema.Properties["days"]
	days.Minimum, days.Maximum = jsonschema.Ptr(1.0), jsonschema.Ptr(7.0)
	days.Default = json.RawMessage(fmt.Sprint(defaultDays))
	return json.Marshal(schema)
}

// forecasts asks for all cities concurrently, each in a strand. The strands all have the same name,
// so that a report shows what they have in common as one cause. If a city fails, its line says why;
// only if all cities fail it returns an error.
func forecasts(ctx context.Context, dc *adk.DispatchContext, service Forecasts, in forecastArgs, units string) (string, error) {
	lines := make([]string, len(in.Cities))
	var strands []*adk.Strand
	for i, city := range in.Cities {
		strand, err := dc.Fork(ctx, "city", func(ctx context.Context, dc *adk.DispatchContext) (err error) {
			lines[i], err = forecast(ctx, dc, service, Query{city, in.Days, units})
			return err
		})
		if err != nil {
			return "", err
		}
		strands = append(strands, strand)
	}
	var failed []error
	for i, strand := range strands {
		if err := strand.Wait(); err != nil {
			lines[i] = err.Error()
			failed = append(failed, err)
		}
	}
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case len(failed) == len(strands):
		return "", errors.Join(failed...)
	}
	return strings.Join(lines, "\n"), nil
}

// A service that fails is asked again once, after a pause.
const (
	mostAttempts = 2
	pause        = time.Second
)

// forecast asks for one city.
func forecast(ctx context.Context, dc *adk.DispatchContext, service Forecasts, q Query) (string, error) {
	for attempt := 1; ; attempt++ {
		text, err := adk.Ask(ctx, "forecasts", q, service, adk.AskOptions{Effect: adk.EffectReads})
		if err == nil {
			return q.City + ": " + text, nil
		}
		if attempt == mostAttempts || errors.Is(err, ErrNoSuchCity) {
			return "", fmt.Errorf("no forecast for %s: %w", q.City, err)
		}
		if err := dc.Sleep(ctx, pause); err != nil {
			return "", err
		}
	}
}
