// Package modelapi reads what models are asked and what they answer, in the common forms: Chat
// Completions, Messages, Responses, Gemini and Ollama. It takes the JSON of asks from crossings,
// over HTTP or not. JSON in any other form gives empty results.
//
// ReadRequest returns a Request: what costs tokens in it and what has the same meaning in all
// forms. ReadTalk returns a Talk: everything in a conversation, unchanged. An Answer is built from
// the pieces in which it arrives. No function fails, because the input comes from other software.
package modelapi
