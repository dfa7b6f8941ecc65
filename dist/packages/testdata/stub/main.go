// Command stub takes the place of the server for platforms on which no test runs it.
package main

func main() {}
