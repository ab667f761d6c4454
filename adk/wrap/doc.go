// Package wrap makes a turn of an existing agent, whatever it is built with: langchaingo, genkit,
// eino, Google's ADK, the tool runner of an SDK, or a loop of its own. The agent only has to be a
// function from a question to an answer.
//
//	client := &http.Client{Transport: adkhttp.NewTransport(nil)} // what the agent asks with
//	desk := wrap.Agent{Name: "desk", Answer: newDesk(client).Answer}
//
//	answer, err := desk.Ask(ctx, "Where is order 17?", replay.Record(file))  // in production: a recorded turn
//
//	golden.Replay(t, "testdata/turns", func(string) replay.Live {            // in a test of it
//		config, turn := desk.Turn("")
//		return replay.Live{Config: config, Turn: turn, Seams: []string{replay.Executor}}
//	})
//
// A crossing is whatever the agent asks of the world with the context that it is given: over HTTP
// with a client on adkhttp.NewTransport, all else through adk.Ask. Time, ids and waits are recorded
// if they come from adk.Now, adk.NewID and adk.Sleep. The agent's own prompts, tools and memory
// stay inside it: they are visible only as far as its requests to its model and its services
// contain them.
package wrap
