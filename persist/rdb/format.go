package rdb

import "strconv"

// Opcodes, which stand where a type would.
const (
	opFunctionOld = 246 // of release candidates of Redis 7.0
	opFunction    = 245
	opModuleAux   = 247
	opIdle        = 248
	opFreq        = 249
	opAux         = 250
	opResizeDB    = 251
	opExpireMs    = 252
	opExpire      = 253
	opSelectDB    = 254
	opEOF         = 255
)

// Types of values by their encoding in the file.
const (
	typeString          = 0
	typeList            = 1 // strings
	typeSet             = 2
	typeZSet            = 3 // scores in decimal
	typeHash            = 4
	typeZSet2           = 5 // scores as eight bytes
	typeModuleOld       = 6
	typeModule          = 7
	typeHashZipmap      = 9
	typeListZiplist     = 10
	typeSetIntset       = 11
	typeZSetZiplist     = 12
	typeHashZiplist     = 13
	typeListQuicklist   = 14 // ziplists
	typeStream          = 15
	typeHashListpack    = 16
	typeZSetListpack    = 17
	typeListQuicklist2  = 18 // listpacks, and single elements
	typeStream2         = 19
	typeSetListpack     = 20 // from version 11 on
	typeStream3         = 21 // from version 11 on
	typeNone            = 255
	containerPlain      = 1 // a quicklist node of one element
	containerPacked     = 2
	listpackHeader      = 6
	ziplistHeader       = 10
	packEnd             = 0xff
	countUnknown        = 0xffff // the count in a pack's header when it does not fit
	magic               = "REDIS"
	headerSize          = len(magic) + 4
	checksumSize        = 8
	oldestWithChecksum  = 5
	lowestTypeOrOpcode  = opFunction
	encodedIntsetHeader = 8
)

// supported reports whether values of the type are supported.
func supported(typ byte) bool {
	switch kind(typ) {
	case "string", "list", "set", "sorted set", "hash":
		return true
	}
	return false
}

// kind returns TYPE's name of a type.
func kind(typ byte) string {
	switch typ {
	case typeString:
		return "string"
	case typeList, typeListZiplist, typeListQuicklist, typeListQuicklist2:
		return "list"
	case typeSet, typeSetIntset, typeSetListpack:
		return "set"
	case typeZSet, typeZSet2, typeZSetZiplist, typeZSetListpack:
		return "sorted set"
	case typeHash, typeHashZipmap, typeHashZiplist, typeHashListpack:
		return "hash"
	case typeStream, typeStream2, typeStream3:
		return "stream"
	case typeModuleOld, typeModule:
		return "module type"
	}
	return "type " + strconv.Itoa(int(typ))
}
