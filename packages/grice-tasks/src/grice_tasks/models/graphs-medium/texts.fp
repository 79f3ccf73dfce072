{"format":"grice-texts/1","hashes":8,"below":1099511627775,"words":5}
å¦`Sž8`ª8éQ& ÂÖ³BËc©VcÚI;*©\Ä……³n›
þ