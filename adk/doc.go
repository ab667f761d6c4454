// Package adk runs one turn of an agent: it loads context, asks a decision
// maker, runs the tools that it wants, asks again, until it is done; and it
// tells everything that passes between engine and user code, so that the turn
// can be recorded and run again.
//
//	model := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
//		if _, err := h.ReportMessage(dc.NewID(), "It is 4 °C in Oslo.", true); err != nil {
//			return err
//		}
//		return dc.Ack()
//	}
//	runner, err := adk.NewRunner(adk.Config{
//		Executor: adk.Executor{Name: "model", Run: model},
//		Storage:  fakes.NewStorage().Storage(),
//	})
//	if err != nil {
//		log.Fatal(err)
//	}
//	runner.On(adk.Functional{Message: func(e adk.MessageEvent) { fmt.Println(e.Full) }})
//	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Be brief."}); err != nil {
//		log.Fatal(err)
//	}
//
// A [Config] needs an executor and a [Storage]; package chat has an executor for servers that
// speak Chat Completions, package storage keeps records in files and databases. An executor
// answers nothing: it reports what the model says, runs tools, keeps records, and has to ack or
// nack, or it is called again. Who wants to hear of it listens with [Runner.On] to what an
// agent says and does, and with [Runner.Observe] to how the turn goes, failures among it.
//
// # The words
//
// A turn is one call of [Runner.Run]: somebody said something, and the agent
// answers. Inside it, the dispatch is the loop around the decision maker, the
// [Executor]; one round of the loop is an iteration. A middleware wraps what
// comes after it in one of four pipelines ([TurnMiddleware],
// [DispatchMiddleware]). User code speaks to the engine through a
// [TurnContext] or a [DispatchContext]; both hold sets of records ([Records]),
// tools ([ToolSet]) and a [Stash]. A dispatch ends when somebody acks it, nacks
// it, or the turn is aborted. A gate ([Gate]) is a point at which a turn waits
// for somebody outside. A [Tool] is what the model can ask for.
//
// What user code asks of a model's server, or of any other service, is an ask
// ([Ask], [AskStream]); package adkhttp makes asks of the requests of any HTTP client.
//
// A seam is a place where engine and user code meet, a crossing what passes
// there, a strand parallel work inside one seam call, a state the digest of all
// that is visible at one point ([Crossing], [Seam], [Strand], [StateDigest]).
//
// # One turn
//
//  1. [Runner.Run] validates the raw turn and tells the first crossing.
//  2. The turn begins ([TurnStart]). Whatever happens from here on, the last state
//     and [TurnEnd] are told.
//  3. The turn input pipeline runs: each [TurnMiddleware], and through its [Next] those
//     after it. A failure is reported when all post-steps have run, and ends the turn.
//  4. The dispatch gets a copy of what is visible, and runs iterations until one ends it.
//  5. One iteration is the dispatch input pipeline, the state, the executor, the dispatch
//     output pipeline, and [IterationEnd], with the flush of what was stored behind. Between
//     any two of them a signal, a failure or an abort leaves the loop.
//  6. The executor streams with [Helpers], runs tools with [DispatchContext.Execute], and
//     keeps records with [Records.Store], which calls the storage at once and queues the
//     change for the turn. [DispatchContext.Ack] runs the on-ack handlers and ends the
//     dispatch.
//  7. On an ack the queue is flushed to the turn, otherwise dropped; [DispatchEnd] has the
//     status.
//  8. After an ack, the turn output pipeline runs like the input pipeline.
//
// # What runs concurrently
//
// The goroutine that called Run runs everything, but for strands ([DispatchContext.Fork]).
// User code is never called under a lock of the engine, but for the clock and the
// observer's Tell.
//
// # Determinism
//
// Time and ids come from the config ([Clock], [IDSource]), and the bytes of media
// through [Handle.OpenMedia]. Code that is given a context and no handle has [Now],
// [NewID] and [Sleep], which outside of a turn are the machine's. With the same
// config, raw turn, clock, ids and answers of user code, and strands run one at
// a time, a turn makes the same crossings in the same order, everywhere.
// Goroutines that user code starts itself are legal, and outside this promise.
//
// # Failure
//
// There is one error type, [Error], with a stable [Code]. A turn that could not
// begin answers with an error; one that began answers nil, and what went wrong
// is an [ErrorEvent] on the observability bus: once per failure and never for
// an abort.
//
// # What to read next
//
// The examples show a turn. [Kinds] and [Kind.Fields] say what
// crosses. Package fakes has scripted executors and recording storage for
// tests, package replay records turns and runs them again.
package adk
