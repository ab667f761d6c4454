package otel_test

import (
	"context"
	"fmt"
	"log"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay/otel"
)

func Example() {
	ended := tracetest.NewInMemoryExporter() // in a program: otlptracehttp.New
	provider := sdk.NewTracerProvider(sdk.WithBatcher(ended))
	script := fakes.Script{
		{fakes.Call("weather", `{"city":"Oslo"}`)},
		{fakes.Say("It is 4 °C in Oslo."), fakes.Ack()},
	}
	runner, err := adk.NewRunner(adk.Config{
		Executor: script.Executor("model"),
		Storage:  fakes.NewStorage().Storage(),
		Tools:    []*adk.Tool{fakes.NewTool("weather", "Tells the weather in a city.", "4 °C").Tool()},
		Probe:    otel.NewProbe(otel.Config{Provider: provider, Agent: "weatherman"}),
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "You are a helpful assistant."}); err != nil {
		log.Fatal(err)
	}
	if err := provider.ForceFlush(context.Background()); err != nil {
		log.Fatal(err)
	}
	for _, span := range ended.GetSpans() {
		fmt.Println(span.Name)
	}
	// Output:
	// execute_tool weather
	// chat
	// chat
	// invoke_agent weatherman
}
