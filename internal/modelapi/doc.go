// Package modelapi reads what models are asked and what they answer, in the forms that are
// common: Chat Completions, Messages, Responses, Gemini and Ollama. It takes the JSON of asks as
// crossings have it, over HTTP or not, and what has another form says nothing.
//
// ReadRequest gives a Request, what in it costs and means the same in all forms, and ReadTalk a
// Talk, all that a conversation says as it stands; an Answer is given the pieces in which it comes.
// None fails: what is asked and answered is somebody else's.
package modelapi
