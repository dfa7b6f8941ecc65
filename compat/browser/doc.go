// Package browser contains only tests. They look at the page of the metrics address in a headless Chromium. It
// is a separate module so that zlimit does not depend on what drives the browser. `make browser` runs it.
package browser
