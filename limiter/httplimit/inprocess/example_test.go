package inprocess_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/zlimit/zlimit"
	"github.com/zlimit/zlimit/limiter/httplimit"
	"github.com/zlimit/zlimit/limiter/httplimit/inprocess"
)

// One request a minute for each client, decided in this process.
func ExampleBackend() {
	limits := zlimit.New(zlimit.Options{})
	defer limits.Close()

	limit := httplimit.New(httplimit.Options{
		Backend: inprocess.Backend(limits),
		Quota:   httplimit.Quota{Limit: 1, Window: time.Minute},
		OnError: httplimit.FailClosed,
	})
	handler := limit(http.NotFoundHandler())
	for range 2 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		fmt.Println(w.Code)
	}
	// Output:
	// 404
	// 429
}
