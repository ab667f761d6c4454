// Package fakes holds everything that a test needs around a turn: scripted models and tools,
// recording storage, clocks, ids, approvers and model servers. They behave the same on every run,
// and nothing in the package waits for real time.
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
// A [Script] holds a list of steps for each call of the model; [Script.Executor] plays them.
// [Storage] remembers what was stored, and [Storage.Fail] makes its calls fail. [NewTool] makes a
// tool that gives the given answers in order and records how it was called. [Deterministic] gives a
// config a clock that never moves by itself, ids that count, and a [Scheduler] that runs strands
// one at a time, so that equal runs make equal crossings.
//
// An [Approver] settles gates. A [Provider] is a model's server behind HTTP, and a [Transport] is
// the same without a network. Both answer with a [Conversation], which is either recorded (package
// cassette reads such recordings) or scripted. A [Matcher] says which requests an interaction of
// the conversation answers.
//
// A scripted model answers in the form of the API that the client calls, whichever SDK that is:
// Chat Completions, Messages, Responses, Gemini or Ollama, streamed or whole.
//
//	model := fakes.NewTransport(fakes.Converse(
//		fakes.StreamToolCall("call_1", "weather", `{"city":"Oslo"}`),
//		fakes.StreamReply("It rains ", "in Oslo.")))
//	client := anthropic.NewClient(option.WithAPIKey("none"), option.WithHTTPClient(&http.Client{Transport: model}))
package fakes
