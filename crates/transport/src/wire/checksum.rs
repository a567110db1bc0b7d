//! CRC-32C (Castagnoli): the checksum of iSCSI and SCTP (RFC 3720, RFC 9260).

/// Eight tables, so that eight bytes are taken at a time.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[table - 1][byte];
            tables[table][byte] = before >> 8 ^ tables[0][(before & 255) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
}

/// The checksum of pieces, one after the other.
pub fn crc32c(pieces: &[&[u8]]) -> u32 {
    let mut crc = !0_u32;
    for piece in pieces {
        let (eights, rest) = piece.as_chunks::<8>();
        for &[a, b, c, d, e, f, g, h] in eights {
            let low = crc ^ u32::from_le_bytes([a, b, c, d]);
            crc = TABLES[7][(low & 255) as usize]
                ^ TABLES[6][(low >> 8 & 255) as usize]
                ^ TABLES[5][(low >> 16 & 255) as usize]
                ^ TABLES[4][(low >> 24) as usize]
                ^ TABLES[3][e as usize]
                ^ TABLES[2][f as usize]
                ^ TABLES[1][g as usize]
                ^ TABLES[0][h as usize];
        }
        for &byte in rest {
            crc = crc >> 8 ^ TABLES[0][((crc ^ u32::from(byte)) & 255) as usize];
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_texts_have_their_checksums() {
        // RFC 3720, appendix B.4, and the check value of the catalogue of CRCs
        assert_eq!(crc32c(&[b"123456789"]), 0xe306_9283);
        assert_eq!(crc32c(&[&[0; 32]]), 0x8a91_36aa);
        assert_eq!(crc32c(&[&[255; 32]]), 0x62a8_ab43);
        let rising: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&[&rising]), 0x46dd_794e);
        assert_eq!(crc32c(&[&rising[..5], &rising[5..5], &rising[5..]]), 0x46dd_794e);
    }
}
