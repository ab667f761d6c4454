// Package adkhttp makes an agent's HTTP requests a part of its turn: they are recorded, compared,
// and answered from the recording.
//
//	client := &http.Client{Transport: adkhttp.NewTransport(nil)}
//
// This line is enough for any client that takes an http.Client and passes its caller's context on
// to the request, as the clients of model providers do. A request whose context is that of a seam
// call (adk.HasHandle), or is derived from it, is a crossing. Every other request goes to the base
// transport alone.
//
// # What is recorded
//
//  1. The request, when it is made: method, path, query, headers and body. A JSON body is
//     kept byte for byte.
//  2. The head of the answer, status and headers, when the client gets it.
//  3. The body, as it is read: each event of text/event-stream, each line of JSON lines, and
//     anything else as one piece.
//  4. The end, or the error at the place where the answer broke off. A body that is closed
//     before its end is recorded as far as it was read.
//
// Each retry of a client, and each hop of a redirect, is a request of its own.
//
// # In an aborted turn
//
// A request with the context of the call is refused with the abort's cause. A request that undoes
// something because the caller has left can use context.WithoutCancel of that context: as long as
// its call lasts, it is made, recorded and answered in a replay like any other.
//
// # What is not recorded
//
// Two kinds of values are left out: secrets in headers, queries and forms, found by their names
// (key, token, auth, cookie and so on), and headers that differ on every machine or each time, such
// as trace ids, versions, idempotency keys, and those that say when and by whom a request was
// signed. Of a body longer than MaxBody the trace has the length and the hash. Upgraded
// connections, gRPC, and requests whose body has no announced length are sent unchanged and
// recorded as passed by; no replay can answer them.
//
// # What production sees
//
// Production sees what it would see without this package: the same bytes, errors and headers at the
// same time, and a request's body while it is still being written. The only difference is that a
// Read ends at the end of a piece.
//
// # In a replay
//
// While a turn is replayed with live code in the same process, a request whose context has no
// handle is refused, since it would ask the network; an example is that of a token source that was
// made with a context of its own. replay.Live's Outside allows such requests by the name of the
// service asked, and the report counts the refused ones. A test that makes such requests must not
// run in parallel with a replay.
//
// A served answer that makes its client retry says in retry-after and retry-after-ms that there is
// nothing to wait for. Some waits remain: a client that reads neither header, as Gemini's, and any
// client after a failed connection, where there is no answer to carry the headers, sleeps by the
// machine's clock between two requests, without asking a transport. In a test, golden.InBubble
// makes that time pass.
//
// A test's own server has another port each time. If its address gets into what is recorded, for
// example in an error that a tool gives to the model, call the server by a fixed name: with
// NewTransport(server.Client().Transport) an httptest.Server is http://example.com/.
package adkhttp
