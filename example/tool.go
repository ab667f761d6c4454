package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/adkreplay/adkreplay/adk"
)

// forecastArgs are the arguments of the tool. The model is shown a schema that
// is made of them.
type forecastArgs struct {
	City string `json:"city" jsonschema:"the name of the city, in English"`
	Days int    `json:"days,omitempty" jsonschema:"how many days to look ahead, from 1 to 7"`
}

// defaultDays is how far the tool looks ahead when the model does not say.
const defaultDays = 1

// forecastTool is the tool that asks the weather service.
func forecastTool(service Forecasts) (*adk.Tool, error) {
	schema, err := forecastSchema()
	if err != nil {
		return nil, err
	}
	return adk.NewTypedTool(adk.ToolInit{
		Name:        "forecast",
		Description: "Tells the weather of a city for the coming days.",
		InputSchema: schema,
		Effect:      adk.EffectReads,
	}, func(ctx context.Context, dc *adk.DispatchContext, in forecastArgs) (adk.ToolResult, error) {
		units, _ := dc.Stash().Get("user.units", "metric").(string)
		q := Query{in.City, in.Days, units}
		text, err := adk.Ask(ctx, "forecasts", q, service, adk.AskOptions{Effect: adk.EffectReads})
		if err != nil {
			return nil, fmt.Errorf("no forecast for %s: %w", in.City, err)
		}
		return adk.Text(text), nil
	})
}

// forecastSchema is the schema of forecastArgs, with what Go has no words for.
func forecastSchema() (json.RawMessage, error) {
	schema, err := jsonschema.For[forecastArgs](nil)
	if err != nil {
		return nil, err
	}
	days := schema.Properties["days"]
	days.Minimum, days.Maximum = jsonschema.Ptr(1.0), jsonschema.Ptr(7.0)
	days.Default = json.RawMessage(fmt.Sprint(defaultDays))
	return json.Marshal(schema)
}
