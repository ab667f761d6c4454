package wire

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/adkreplay/adkreplay/internal/canonical"
)

// This file holds the types of errors that code asks for with errors.As, and whose
// values a trace gives back: those of the network, of TLS and of certificates.

// The members of an error's node of which the type is given back, and of one that
// answers Timeout.
const (
	ErrorType    = "type"
	ErrorWith    = "with"
	ErrorTimeout = "timeout"
)

// errorForm is a type of errors. What a trace keeps of one are texts by their names; an
// empty one is left out.
type errorForm struct {
	of reflect.Type
	// split gives the texts of an error of the type; nil for any other.
	split func(err error) map[string]string
	// build makes an error of them; nil where that cannot be.
	build func(with map[string]string, cause error) error
}

// formOf is the form of the errors of type E.
func formOf[E error](split func(E) map[string]string, build func(with map[string]string, cause error) error) errorForm {
	return errorForm{
		of: reflect.TypeFor[E](),
		split: func(err error) map[string]string {
			if one, ok := err.(E); ok && !isNil(err) {
				return split(one)
			}
			return nil
		},
		build: build,
	}
}

// errorForms are the types by the names that traces have for them, which never change.
var errorForms = map[string]errorForm{
	"net.OpError": formOf(
		func(e *net.OpError) map[string]string {
			return map[string]string{"op": e.Op, "net": e.Net, "source": addressText(e.Source), "addr": addressText(e.Addr)}
		},
		func(with map[string]string, cause error) error {
			return &net.OpError{Op: with["op"], Net: with["net"], Source: addressOf(with["net"], with["source"]), Addr: addressOf(with["net"], with["addr"]), Err: cause}
		}),
	"net.DNSError": formOf(
		func(e *net.DNSError) map[string]string {
			return map[string]string{"err": e.Err, "name": e.Name, "server": e.Server, "timeout": yes(e.IsTimeout), "temporary": yes(e.IsTemporary), "notFound": yes(e.IsNotFound)}
		},
		func(with map[string]string, cause error) error {
			return &net.DNSError{Err: with["err"], Name: with["name"], Server: with["server"], UnwrapErr: cause,
				IsTimeout: with["timeout"] != "", IsTemporary: with["temporary"] != "", IsNotFound: with["notFound"] != ""}
		}),
	"net.AddrError": formOf(
		func(e *net.AddrError) map[string]string { return map[string]string{"err": e.Err, "addr": e.Addr} },
		func(with map[string]string, _ error) error {
			return &net.AddrError{Err: with["err"], Addr: with["addr"]}
		}),
	"url.Error": formOf(
		func(e *url.Error) map[string]string { return map[string]string{"op": e.Op, "url": e.URL} },
		func(with map[string]string, cause error) error {
			return &url.Error{Op: with["op"], URL: with["url"], Err: cause}
		}),
	"os.SyscallError": formOf(
		func(e *os.SyscallError) map[string]string { return map[string]string{"syscall": e.Syscall} },
		func(with map[string]string, cause error) error {
			return &os.SyscallError{Syscall: with["syscall"], Err: cause}
		}),
	"syscall.Errno": formOf(splitErrno, buildErrno),

	"tls.CertificateVerificationError": formOf(
		func(e *tls.CertificateVerificationError) map[string]string {
			return map[string]string{"certificates": certificatesText(e.UnverifiedCertificates...)}
		},
		func(with map[string]string, cause error) error {
			chain, ok := certificatesOf(with["certificates"])
			return orNone(ok, &tls.CertificateVerificationError{UnverifiedCertificates: chain, Err: cause})
		}),
	"tls.RecordHeaderError": formOf(
		func(e tls.RecordHeaderError) map[string]string {
			return map[string]string{"msg": e.Msg, "header": base64.StdEncoding.EncodeToString(e.RecordHeader[:])}
		},
		func(with map[string]string, _ error) error {
			e := tls.RecordHeaderError{Msg: with["msg"]}
			header, err := base64.StdEncoding.DecodeString(with["header"])
			return orNone(err == nil && copy(e.RecordHeader[:], header) == len(e.RecordHeader), e)
		}),
	"tls.AlertError": formOf(
		func(e tls.AlertError) map[string]string { return map[string]string{"alert": strconv.Itoa(int(e))} },
		func(with map[string]string, _ error) error {
			n, err := strconv.ParseUint(with["alert"], 10, 8)
			return orNone(err == nil, tls.AlertError(n))
		}),
	"tls.ECHRejectionError": formOf(
		func(e *tls.ECHRejectionError) map[string]string {
			return map[string]string{"retry": base64.StdEncoding.EncodeToString(e.RetryConfigList)}
		},
		func(with map[string]string, _ error) error {
			list, err := base64.StdEncoding.DecodeString(with["retry"])
			return orNone(err == nil, &tls.ECHRejectionError{RetryConfigList: list})
		}),
	"x509.UnknownAuthorityError": formOf(
		func(e x509.UnknownAuthorityError) map[string]string {
			return map[string]string{"certificate": certificatesText(e.Cert)}
		},
		func(with map[string]string, _ error) error {
			cert, ok := certificateOf(with["certificate"])
			return orNone(ok, x509.UnknownAuthorityError{Cert: cert})
		}),
	"x509.HostnameError": formOf(
		func(e x509.HostnameError) map[string]string {
			return map[string]string{"host": e.Host, "certificate": certificatesText(e.Certificate)}
		},
		func(with map[string]string, _ error) error {
			cert, ok := certificateOf(with["certificate"])
			return orNone(ok && cert != nil, x509.HostnameError{Host: with["host"], Certificate: cert})
		}),
	"x509.CertificateInvalidError": formOf(
		func(e x509.CertificateInvalidError) map[string]string {
			return map[string]string{"reason": strconv.Itoa(int(e.Reason)), "detail": e.Detail, "certificate": certificatesText(e.Cert)}
		},
		func(with map[string]string, _ error) error {
			cert, ok := certificateOf(with["certificate"])
			reason, err := strconv.Atoi(with["reason"])
			return orNone(ok && err == nil, x509.CertificateInvalidError{Cert: cert, Reason: x509.InvalidReason(reason), Detail: with["detail"]})
		}),
	"x509.SystemRootsError": formOf(
		func(x509.SystemRootsError) map[string]string { return map[string]string{} },
		func(_ map[string]string, cause error) error { return x509.SystemRootsError{Err: cause} }),
	"x509.ConstraintViolationError":   formOf(nothing[x509.ConstraintViolationError], always[x509.ConstraintViolationError]),
	"x509.UnhandledCriticalExtension": formOf(nothing[x509.UnhandledCriticalExtension], always[x509.UnhandledCriticalExtension]),
	"x509.InsecureAlgorithmError": formOf(
		func(e x509.InsecureAlgorithmError) map[string]string {
			return map[string]string{"algorithm": strconv.Itoa(int(e))}
		},
		func(with map[string]string, _ error) error {
			n, err := strconv.Atoi(with["algorithm"])
			return orNone(err == nil, x509.InsecureAlgorithmError(n))
		}),
}

// errorFormNames are the names of the forms by their types.
var errorFormNames = func() map[reflect.Type]string {
	names := map[reflect.Type]string{}
	for name, form := range errorForms {
		names[form.of] = name
	}
	return names
}()

func nothing[E error](E) map[string]string { return map[string]string{} }

func always[E error](map[string]string, error) error { var e E; return e }

func orNone(ok bool, err error) error {
	if ok {
		return err
	}
	return nil
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

// errnos are the errors of the system that a network gives, whose numbers are other ones
// on every system.
var errnos = map[string]syscall.Errno{
	"ECONNREFUSED": syscall.ECONNREFUSED, "ECONNRESET": syscall.ECONNRESET, "ECONNABORTED": syscall.ECONNABORTED, "EPIPE": syscall.EPIPE,
	"ETIMEDOUT": syscall.ETIMEDOUT, "EHOSTUNREACH": syscall.EHOSTUNREACH, "ENETUNREACH": syscall.ENETUNREACH, "ENETDOWN": syscall.ENETDOWN,
	"EADDRINUSE": syscall.EADDRINUSE, "EADDRNOTAVAIL": syscall.EADDRNOTAVAIL, "ENOTCONN": syscall.ENOTCONN, "EINTR": syscall.EINTR,
	"EMFILE": syscall.EMFILE, "ENOENT": syscall.ENOENT, "EACCES": syscall.EACCES,
}

func splitErrno(e syscall.Errno) map[string]string {
	for _, name := range slices.Sorted(maps.Keys(errnos)) {
		if errnos[name] == e {
			return map[string]string{"name": name}
		}
	}
	return nil
}

func buildErrno(with map[string]string, _ error) error {
	e, known := errnos[with["name"]]
	return orNone(known, e)
}

// textAddr is an address of which nothing is known but its text.
type textAddr struct{ network, text string }

func (a textAddr) Network() string { return a.network }
func (a textAddr) String() string  { return a.text }

func addressText(a net.Addr) string {
	if a == nil || isNil(a) {
		return ""
	}
	return a.String()
}

// addressOf is the address of a text, of the type that the network has for it.
func addressOf(network, text string) net.Addr {
	if text == "" {
		return nil
	}
	at, err := netip.ParseAddrPort(text)
	switch {
	case err == nil && strings.HasPrefix(network, "tcp"):
		return net.TCPAddrFromAddrPort(at)
	case err == nil && strings.HasPrefix(network, "udp"):
		return net.UDPAddrFromAddrPort(at)
	}
	return textAddr{network, text}
}

func certificatesText(chain ...*x509.Certificate) string {
	var texts []string
	for _, one := range chain {
		if one != nil {
			texts = append(texts, base64.StdEncoding.EncodeToString(one.Raw))
		}
	}
	return strings.Join(texts, " ")
}

func certificatesOf(text string) (chain []*x509.Certificate, ok bool) {
	for _, one := range strings.Fields(text) {
		raw, err := base64.StdEncoding.DecodeString(one)
		if err != nil {
			return nil, false
		}
		cert, err := x509.ParseCertificate(raw)
		if err != nil {
			return nil, false
		}
		chain = append(chain, cert)
	}
	return chain, true
}

// certificateOf is the one certificate of a text, nil for none.
func certificateOf(text string) (*x509.Certificate, bool) {
	chain, ok := certificatesOf(text)
	if !ok || len(chain) != 1 {
		return nil, ok && len(chain) == 0
	}
	return chain[0], true
}

// formed stands for an error of one of the forms that today's code does not make as it
// was: its text was another one, or what it was made of is redacted. errors.As finds an
// error of the type in it, where one can be made.
type formed struct {
	wrapped
	form  string
	with  map[string]string
	today error // or nil
}

func (e *formed) Unwrap() error {
	if e.today != nil {
		return e.today
	}
	return e.cause
}

// late stands for an error of a type that a trace does not know, which says whether it
// is a timeout.
type late struct {
	wrapped
	timeout bool
}

func (e *late) Timeout() bool   { return e.timeout }
func (e *late) Temporary() bool { return e.timeout }

// saysTimeout is what an error says of being a timeout, if it does.
func saysTimeout(err error) (timeout, says bool) {
	one, says := err.(interface{ Timeout() bool })
	if !says {
		return false, false
	}
	defer func() {
		if recover() != nil {
			timeout, says = false, false
		}
	}()
	return one.Timeout(), true
}

// formMembers writes what makes an error one of its form.
func (e *Encoder) formMembers(form string, with map[string]string) {
	e.always(ErrorType, form)
	if with = nonEmpty(with); len(with) == 0 {
		return
	}
	e.rawKey(ErrorWith)
	e.Out = append(e.Out, '{')
	for _, name := range slices.Sorted(maps.Keys(with)) {
		e.comma()
		e.Out = append(canonical.AppendString(e.Out, name), ':')
		e.Text(with[name])
	}
	e.Out = append(e.Out, '}')
}

func nonEmpty(with map[string]string) map[string]string {
	all := map[string]string{}
	for name, text := range with {
		if text != "" {
			all[name] = text
		}
	}
	return all
}

// formIn is the form of an error, with its texts; empty for none, and for one whose
// parts panic.
func formIn(err error) (form string, with map[string]string) {
	defer func() {
		if recover() != nil {
			form, with = "", nil
		}
	}()
	if one, ok := err.(*formed); ok {
		return one.form, one.with
	}
	if form = errorFormNames[reflect.TypeOf(err)]; form != "" {
		with = errorForms[form].split(err)
	}
	if with == nil {
		return "", nil
	}
	return form, with
}

// formedError makes an error of a form, which is of its type as it is where that says
// all that was recorded.
func (n *errorNode) formedError() (error, error) {
	if _, known := errorForms[n.form]; !known {
		return nil, fmt.Errorf("%s: %s is none that is known", ErrorType, Clip(strconv.Quote(n.form)))
	}
	today := builtError(n.form, n.with, n.cause)
	if today != nil && textOf(today) == n.text && slices.Equal(n.d.Sentinels.claimedBy(today), n.is) {
		return today, nil
	}
	return &formed{wrapped{n.text, n.claims(), n.cause}, n.form, n.with, today}, nil
}

// builtError is an error of a form; nil where none can be made that gives the same again.
func builtError(form string, with map[string]string, cause error) error {
	today := errorForms[form].build(with, cause)
	if today == nil {
		return nil
	}
	again := nonEmpty(errorForms[form].split(today))
	for name, text := range with {
		if again[name] != text {
			return nil
		}
	}
	return today
}

// readWith reads the texts that an error of a form is made of.
func readWith(raw []byte) (with map[string]string, err error) {
	members, err := ScanMembers(nil, raw)
	if err != nil {
		return nil, err
	}
	with = map[string]string{}
	for _, m := range members {
		if with[string(m.Name)], err = TextOfJSON(m.Value); err != nil {
			return nil, fmt.Errorf("%s: %w", Clip(string(m.Name)), err)
		}
	}
	return with, nil
}
