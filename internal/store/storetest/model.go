package storetest

func modelTests() []test { return nil }
