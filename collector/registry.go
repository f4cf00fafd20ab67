package collector

// Specs is the table of all collectors, in the order of --help and the docs.
// Adding one here, with its file and its table of rows, is all it takes: flags,
// self metrics, docs/metrics.md and the lint follow from the table.
func Specs() []Spec {
	return []Spec{
		pgSpec(),
		forecastSpec(),
		osdSpec(),
		msaSpec(),
		rgwSpec(),
		daemonSpec(),
		bluestoreSpec(),
		enclosureSpec(),
	}
}
