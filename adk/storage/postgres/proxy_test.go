package postgres_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"
)

// proxy is between a storage and its server.
type proxy struct {
	t      *testing.T
	server *pgx.ConnConfig

	mu    sync.Mutex
	trips int
	// cut reports whether to cut the connection when the client waits for an answer, and whether
	// the server still receives what the client has sent.
	cut func(sent []pgproto3.FrontendMessage) (ok, forwarded bool)
}

// newProxy returns a proxy and the DSN under which it listens.
func newProxy(t *testing.T, dsn string) (*proxy, string) {
	config, err := pgx.ParseConfig(dsn)
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "px") // the path of a socket is short
	require.NoError(t, err)
	listener, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	require.NoError(t, err)
	p := &proxy{t: t, server: config}
	t.Cleanup(func() { listener.Close(); os.RemoveAll(dir) })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	return p, fmt.Sprintf("host=%s user=%s password='%s' dbname=%s sslmode=disable", dir, config.User, config.Password, config.Database)
}

// serve connects a client with its own connection to the server.
func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	network, address := pgconnAddress(p.server)
	server, err := net.Dial(network, address)
	if err != nil {
		return
	}
	defer server.Close()
	answers := answering{done: make(chan struct{})}
	go answers.copy(client, server)
	backend := pgproto3.NewBackend(client, client)
	start, err := backend.ReceiveStartupMessage()
	if err != nil || send(server, start) != nil {
		return
	}
	for {
		sent, err := trip(backend)
		if err != nil {
			return
		}
		cut, forwarded := p.count(sent)
		if cut {
			answers.end() // before the server can answer the forwarded messages
		}
		if !cut || forwarded {
			if send(server, sent...) != nil {
				return
			}
		}
		if cut {
			// The server handles what it has received and then sees that the client has gone. The
			// client sees nothing until that is done.
			if server.(interface{ CloseWrite() error }).CloseWrite() == nil {
				<-answers.done
			}
			return
		}
	}
}

// answering copies the server's answers to the client, until the connection is cut.
type answering struct {
	done chan struct{} // closed when the server sends no more

	mu  sync.Mutex
	cut bool
}

// end prevents later bytes from reaching the client.
func (a *answering) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cut = true
}

func (a *answering) copy(client, server net.Conn) {
	defer close(a.done)
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		a.pass(client, buffer[:n])
		if err != nil {
			break
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.cut {
		client.Close()
	}
}

func (a *answering) pass(client net.Conn, bytes []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.cut {
		client.Write(bytes) // that a client has left is noticed when reading from it
	}
}

// trip returns what a client sends before it waits for an answer, in messages that share no
// bytes.
func trip(backend *pgproto3.Backend) (sent []pgproto3.FrontendMessage, err error) {
	for {
		m, err := backend.Receive()
		if err != nil {
			return nil, err
		}
		encoded, err := m.Encode(nil)
		if err != nil {
			return nil, err
		}
		sent = append(sent, kept{m, encoded})
		switch m.(type) {
		case *pgproto3.Sync, *pgproto3.Query, *pgproto3.Flush, *pgproto3.PasswordMessage, *pgproto3.SASLInitialResponse, *pgproto3.SASLResponse, *pgproto3.Terminate:
			return sent, nil
		}
	}
}

// kept is a message whose bytes are not overwritten.
type kept struct {
	pgproto3.FrontendMessage
	bytes []byte
}

func (k kept) Encode(to []byte) ([]byte, error) { return append(to, k.bytes...), nil }

func send(to net.Conn, all ...pgproto3.FrontendMessage) error {
	var bytes []byte
	var err error
	for _, m := range all {
		if bytes, err = m.Encode(bytes); err != nil {
			return err
		}
	}
	_, err = to.Write(bytes)
	return err
}

func pgconnAddress(config *pgx.ConnConfig) (network, address string) {
	if filepath.IsAbs(config.Host) {
		return "unix", filepath.Join(config.Host, fmt.Sprintf(".s.PGSQL.%d", config.Port))
	}
	return "tcp", net.JoinHostPort(config.Host, fmt.Sprint(config.Port))
}

func (p *proxy) count(sent []pgproto3.FrontendMessage) (cut, forwarded bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trips++
	if p.cut == nil {
		return false, true
	}
	return p.cut(sent)
}

// during returns the number of round trips that f makes.
func (p *proxy) during(f func()) int {
	p.mu.Lock()
	before := p.trips
	p.mu.Unlock()
	f()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trips - before
}

// cutAt sets which connections are cut; nil cuts none.
func (p *proxy) cutAt(cut func(sent []pgproto3.FrontendMessage) (ok, forwarded bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
}
