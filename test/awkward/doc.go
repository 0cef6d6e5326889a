// Package awkward has objects that the API server admits and that nobody would write: every controller meets them
// beside ordinary ones, on a real cluster.
//
// What is tried is found, not listed: for each plugin of the table the kinds that its golden cases are about, and of
// each kind the fields that its Go type has. Each field is made as large as the API server lets it be, which a dry run
// tells. A new controller is tried by having golden cases.
package awkward
