module github.com/zlimit/zlimit/compat/run

go 1.25.0

require github.com/zlimit/zlimit v0.0.0

replace github.com/zlimit/zlimit => ../..
