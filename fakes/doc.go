// Package fakes is everything around a turn that a test scripts, and the same on every run.
// Nothing here waits for real time.
//
//	records := fakes.NewStorage()
//	weather := fakes.NewTool("weather", "Tells the weather of a city.", "rain, 8°")
//	runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{
//		Executor: fakes.Script{
//			{fakes.Think("I should look."), fakes.Call("weather", `{"city":"Oslo"}`)},
//			{fakes.Stream("It rains", " in Oslo."), fakes.Ack()},
//		}.Executor("model"),
//		Storage: records.Storage(),
//		Tools:   []*adk.Tool{weather.Tool()},
//	}))
//
// A [Script] has a list of steps for each call of the model; [Script.Executor] plays them.
// [Storage] remembers what was stored, and [Storage.Fail] has it fail. [NewTool] answers in
// turn with what it is given, and knows how it was called. [Deterministic] gives a config a
// clock that only moves when it is told, ids that count, and a [Scheduler] that runs strands
// one at a time, so that equal runs make equal crossings.
//
// An [Approver] settles gates. A [Provider] is a model's server behind HTTP, a [Transport] the
// same without a network; both answer with a [Conversation], recorded, which package cassette
// reads, or scripted. What they are asked is matched by a [Matcher].
//
// A scripted model speaks the form of the API that a client asks through, whichever SDK that is:
// Chat Completions, Messages, Responses, Gemini or Ollama, as a stream or whole.
//
//	model := fakes.NewTransport(fakes.Converse(
//		fakes.StreamToolCall("call_1", "weather", `{"city":"Oslo"}`),
//		fakes.StreamReply("It rains ", "in Oslo.")))
//	client := anthropic.NewClient(option.WithAPIKey("none"), option.WithHTTPClient(&http.Client{Transport: model}))
package fakes
