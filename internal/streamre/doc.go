// Package streamre finds regular expressions in texts that arrive in pieces. A Matcher reports what
// was found, and from where on the text so far may still be the beginning of a match. On a complete
// text it finds what package regexp finds, in linear time. A Search does the same for many literal
// texts at once.
package streamre
