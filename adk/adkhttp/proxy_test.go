package adkhttp_test

import (
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// proxy forwards requests, in the clear and through tunnels, for clients that send the
// secret.
func proxy() http.Handler {
	hand := &httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("ada:"+secret)):
			http.Error(w, "who are you?", http.StatusProxyAuthRequired)
		case r.Method == http.MethodConnect:
			tunnel(w, r.Host)
		default:
			hand.ServeHTTP(w, r)
		}
	})
}

// tunnel joins two connections until either of them ends.
func tunnel(w http.ResponseWriter, to string) {
	far, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	near, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		_ = far.Close()
		return
	}
	_, _ = io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n")
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			_ = way[0].Close()
		})
	}
	both.Wait()
}

// WLD-5, WLD-7: a proxy is below the recorded exchange. Production is answered through it as without
// the transport, also where the proxy refuses. The credentials that the proxy receives are in no
// trace.
func TestProxies(t *testing.T) {
	plain, encrypted, between := httptest.NewServer(world()), httptest.NewTLSServer(world()), httptest.NewServer(proxy())
	for _, server := range []*httptest.Server{plain, encrypted, between} {
		t.Cleanup(server.Close)
		t.Cleanup(server.CloseClientConnections)
	}
	for name, server := range map[string]*httptest.Server{"plain": plain, "in a tunnel": encrypted} {
		for who, user := range map[string]*url.Userinfo{"let through": url.UserPassword("ada", secret), "refused": url.UserPassword("bob", secret)} {
			t.Run(name+", "+who, func(t *testing.T) {
				by := must(url.Parse(between.URL))
				by.User = user
				base := server.Client().Transport.(*http.Transport).Clone()
				asked := false
				base.Proxy = func(*http.Request) (*url.URL, error) {
					asked = true
					return by, nil
				}
				t.Cleanup(base.CloseIdleConnections)
				holdsThrough(t, posting(`{"a":1}`), "", base, server.URL)
				assert.True(t, asked)
			})
		}
	}
}
