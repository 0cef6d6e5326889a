package rewrite

// Tests have little memory: with short pieces they meet what needs megabytes otherwise.
func init() { bulkPiece = 1000 }
