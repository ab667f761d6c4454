// Package adkhttp makes what an agent asks over HTTP a part of its turn: recorded,
// compared, and answered from the recording.
//
//	client := &http.Client{Transport: adkhttp.NewTransport(nil)}
//
// One such line is enough for any client that takes an http.Client and hands the
// context of its caller down to the request: those of model providers do. A request
// whose context is that of a seam call (adk.HasHandle), or made from it, crosses; every
// other one is the base transport's alone.
//
// # What is told
//
//  1. The request, when it is made: method, path, query, headers and body. The body
//     of JSON is held as it is, to the byte.
//  2. The head of the answer, status and headers, when the client has it.
//  3. The body, as it is read: of text/event-stream each event, of JSON lines each
//     line, of anything else all of it as one.
//  4. The end, or the error at the place where the answer broke. A body that is closed
//     before its end is told as far as it was read.
//
// Each retry of a client, and each hop of a redirect, is a request of its own.
//
// # In an aborted turn
//
// A request with the context of the call is refused with the abort's cause. What takes back what
// was done, since the caller has left, is asked with context.WithoutCancel of it: that is made,
// told and answered in a replay as any other, as long as its call lasts.
//
// # What is not told
//
// Secrets in headers, queries and forms, by their names (key, token, auth, cookie and so on),
// and what is another one on every machine and each time, as traces, versions, keys of
// idempotency, and when and by whom a request was signed are. Of a body longer than MaxBody the
// trace has length and hash. Upgraded connections, gRPC, and requests whose body says no length go
// their way untouched and are told as passed by, which no replay can answer.
//
// # What production sees
//
// What it would see without this package: the same bytes, errors and headers at the
// same time, and a request's body while it is still being written. Only a Read ends where
// a piece does.
//
// # In a replay
//
// A request whose context has no handle, of a token source that was made with a context of
// its own say, is refused while a turn is replayed with live code in the same process: it
// would ask the network. replay.Live's Outside allows it by the name of whom it asks, and the
// report counts what was refused. A test that asks so meanwhile must not run beside a replay.
//
// A served answer that sends its client away says that there is nothing to wait for, in
// retry-after and retry-after-ms. A client that reads neither, as Gemini's, and any other
// after a connection that failed, for which there is no answer to say it in, sleeps by the
// clock of the machine between two requests, where no transport is asked: in a test
// golden.InBubble lets that time pass.
//
// A test's own server has another port each time. Where its address gets into what is told,
// as in an error that a tool hands to the model, ask it by a name that stays: with
// NewTransport(server.Client().Transport) an httptest.Server is http://example.com/.
package adkhttp
