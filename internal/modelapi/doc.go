// Package modelapi reads what models are asked and what they answer, in the forms that are
// common: Chat Completions, Messages, Responses and Gemini. It takes the JSON of asks as
// crossings have it, over HTTP or not, and what has another form says nothing.
//
// ReadRequest gives a Request; an Answer is given the pieces in which it comes. Neither
// fails: what is asked and answered is somebody else's.
package modelapi
