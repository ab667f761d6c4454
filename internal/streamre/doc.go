// Package streamre finds regular expressions in texts that come in pieces: a Matcher
// says what was found, and from where on the text so far may still be the beginning of
// a match. On a whole text it finds what package regexp finds, in linear time. A Search
// does the same for many texts at once.
package streamre
