// Package replay records turns and runs them again on today's code.
//
// A turn is recorded as a trace: every crossing between the engine and user code, in order. A
// replay makes the turn again. Scripted seams do what was recorded; live seams are your code of
// today. Where the new run does something else, the report names the first crossing at which it
// differs from the recording, and why.
//
//	var trace bytes.Buffer
//	runner, err := adk.NewRunner(fakes.Deterministic(config, replay.Record(&trace)))
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "You are a helpful assistant."}); err != nil {
//		log.Fatal(err)
//	}
//	report, err := replay.Verify(context.Background(), &trace, replay.Live{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	fmt.Println(report.Crossings, "crossings, diverged:", report.Divergence != nil)
//
// In go test all of this is one line: golden.Replay in package replay/golden.
//
//  1. Record gives the probe for adk.Config.Probe that writes one trace. RecordEach is for
//     production: it opens a file for each run, and can queue writes, cap the size, sample and
//     redact (RecordOptions).
//  2. Verify runs a trace again. Without live seams it compares the engine with the recording,
//     crossing by crossing; that needs no code of yours and is what adkreplay verify does.
//  3. A Live chooses which seams are your code: Prompt, Stash, Tools, Middleware, Executor,
//     ToolCode, Storage, Gates or Everything. What your code asks of the engine is then compared
//     by cause and arguments, ids that it makes anew are renamed, and a request without a
//     recorded answer gets ErrUnanswered.
//  4. The Report has a Divergence, or none. Its Class says what kind of difference it is, its
//     Fields in which values, its Place where in your code, and After what else follows from it.
//     String is written to be read on one screen.
//  5. Rerecord writes the trace of the new run, for a change that was meant.
//
// Read on in replay/trace for the file, replay/transcript to read a run, replay/diff to compare two
// traces, replay/whatif to answer one crossing differently, replay/corpus for many traces at once,
// and replay/redact to keep secrets out.
//
// # Goroutines of your own
//
// Your code may start goroutines that use one handle at the same time. Where no seam is live, a
// replay makes again what they did, in the recorded order. Where they run live code:
//
//   - Tools, requests and sub-agents that such goroutines start are held to no order. The same is
//     true where tools and requests were open at the same time in the recording and come one
//     after the other today.
//   - What they wait for (an answer, a time, the end of a sleep) comes in the recorded order, one
//     at a time, each when all of the goroutines are at rest after the one before.
//   - An id that one of them makes is the recorded one. Where several make an id at the same time,
//     it is not known which id belongs to which goroutine; what each does with its id shows it.
//   - Where two of them came to a lock, or to the clock, at the same moment, no crossing says which
//     was first, and a replay may do it the other way round. To avoid that, write results back
//     after the goroutines have ended, or begin strands (adk.TurnContext.Fork), whose order is the
//     recorded one.
//   - What goroutines had begun when the caller left is nondeterministic, and the report of a
//     difference there says so.
//   - What they draw at random, such as the jitter of a backoff, is different each time. Draw it
//     with adk.Ask, so that it is recorded, or from a source that tests fix, as an exploration
//     needs.
package replay

// File by file: without live seams, player walks along the recording with one cursor (player.go)
// and stops at the first difference. With live seams, bycause.Run makes the run (rerun.go),
// comparison compares it with the recording (comparison.go), and explain makes a Divergence of the
// first difference (explain.go). Both kinds of run perform what was recorded through stub.Stage;
// report.go puts the result in words.
