module github.com/zlimit/zlimit/compat/run

go 1.25.0
