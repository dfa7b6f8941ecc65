package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/zlimit/zlimit"
	"github.com/zlimit/zlimit/limiter/httplimit"
)

// One request a minute for each address, decided in this process.
func ExampleNew() {
	limits := zlimit.New(zlimit.Options{})
	defer limits.Close()
	limits.Engine().Clock().Freeze() // for the example's sake: time stands still

	limit := httplimit.New(httplimit.Options{
		Backend: httplimit.Commands(limits.Do),
		Quota:   httplimit.Quota{Name: "per-address", Limit: 1, Window: time.Minute},
	})
	handler := limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }))

	for range 2 {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		fmt.Println(answer.Code)
		for _, name := range []string{"RateLimit-Policy", "RateLimit", "Retry-After"} {
			fmt.Printf("  %s: %s.\n", name, answer.Header().Get(name))
		}
	}
	// Output:
	// 200
	//   RateLimit-Policy: "per-address";q=1;w=60.
	//   RateLimit: "per-address";r=0;t=60.
	//   Retry-After: .
	// 429
	//   RateLimit-Policy: "per-address";q=1;w=60.
	//   RateLimit: "per-address";r=0;t=60.
	//   Retry-After: 60.
}
