package embed_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/limiter/httplimit"
	"github.com/zlimit/zlimit/zlimittest"
)

// byUser limits each value of a header to two requests in ten seconds.
func byUser(backend httplimit.Backend) httplimit.Options {
	return httplimit.Options{
		Backend: backend,
		Key:     func(r *http.Request) string { return r.Header.Get("User") },
		Quota:   httplimit.Quota{Name: "per-user", Limit: 2, Window: 10 * time.Second},
		OnError: httplimit.FailClosed,
	}
}

// withChi uses the middleware directly.
func withChi(backend httplimit.Backend) http.Handler {
	r := chi.NewRouter()
	r.With(httplimit.New(byUser(backend))).Get("/hello/{name}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello ", chi.URLParam(r, "name"))
	})
	return r
}

// withGin adapts the middleware, because gin's have another type.
func withGin(backend httplimit.Backend) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	limit := httplimit.New(byUser(backend))
	r := gin.New()
	r.Use(func(c *gin.Context) {
		admitted := false
		next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { admitted = true })
		limit(next).ServeHTTP(c.Writer, c.Request)
		if admitted {
			c.Next()
		} else {
			c.Abort()
		}
	})
	r.GET("/hello/:name", func(c *gin.Context) { c.String(http.StatusOK, "hello %s", c.Param("name")) })
	return r
}

// TestFrameworks tests chi and gin in front of zlimit in this process, and of a server through go-redis.
func TestFrameworks(t *testing.T) {
	for framework, handler := range map[string]func(httplimit.Backend) http.Handler{
		"chi": withChi, "gin": withGin,
	} {
		for _, remote := range []bool{false, true} {
			t.Run(fmt.Sprint(framework, " remote=", remote), func(t *testing.T) {
				srv := zlimittest.RunWith(t, zlimittest.Options{Frozen: true})
				backend := httplimit.Commands(srv.Inner().Do)
				if remote {
					backend = overGoRedis(t, srv, goredis.Options{})
				}
				h := handler(backend)
				get := func(user string) *httptest.ResponseRecorder {
					r := httptest.NewRequest(http.MethodGet, "/hello/world", http.NoBody)
					r.Header.Set("User", user)
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					return w
				}
				for _, left := range []string{"1", "0"} {
					w := get("ann")
					require.Equal(t, "200 hello world", fmt.Sprint(w.Code, " ", w.Body))
					require.Equal(t, `"per-user";r=`+left+`;t=10`, w.Header().Get("RateLimit"))
				}
				srv.Advance(1500 * time.Millisecond)
				w := get("ann")
				require.Equal(t, "429 too many requests\n", fmt.Sprint(w.Code, " ", w.Body))
				require.Equal(t, `"per-user";q=2;w=10`, w.Header().Get("RateLimit-Policy"))
				require.Equal(t, "9", w.Header().Get("Retry-After"))
				require.Equal(t, 200, get("bob").Code)
				srv.Advance(9 * time.Second)
				require.Equal(t, 200, get("ann").Code)
			})
		}
	}
}
