"""Tables of cells: facts alone, as text that ``hw.technology`` reads.

A line of a table of cells is ``NAME transistors[,area_um2] inputs output=function[;
output=function]``. A table of structures has a line ``NAME stages`` for each cell of more than one
inverting stage.
"""

CMOS_CELLS = """
INV    2  A            Y=~A
BUF    4  A            Y=A
NAND2  4  A,B          Y=~(A & B)
NOR2   4  A,B          Y=~(A | B)
AND2   6  A,B          Y=A & B
OR2    6  A,B          Y=A | B
NAND2B 6  A,B          Y=~(~A & B)
NOR2B  6  A,B          Y=~(~A | B)
NAND3  6  A,B,C        Y=~(A & B & C)
NOR3   6  A,B,C        Y=~(A | B | C)
AND3   8  A,B,C        Y=A & B & C
OR3    8  A,B,C        Y=A | B | C
NAND4  8  A,B,C,D      Y=~(A & B & C & D)
NOR4   8  A,B,C,D      Y=~(A | B | C | D)
AND4   10 A,B,C,D      Y=A & B & C & D
OR4    10 A,B,C,D      Y=A | B | C | D
AOI21  6  A,B,C        Y=~((A & B) | C)
OAI21  6  A,B,C        Y=~((A | B) & C)
AO21   8  A,B,C        Y=(A & B) | C
OA21   8  A,B,C        Y=(A | B) & C
AOI22  8  A,B,C,D      Y=~((A & B) | (C & D))
OAI22  8  A,B,C,D      Y=~((A | B) & (C | D))
AO22   10 A,B,C,D      Y=(A & B) | (C & D)
OA22   10 A,B,C,D      Y=(A | B) & (C | D)
AOI31  8  A,B,C,D      Y=~((A & B & C) | D)
OAI31  8  A,B,C,D      Y=~((A | B | C) & D)
AOI211 8  A,B,C,D      Y=~((A & B) | C | D)
OAI211 8  A,B,C,D      Y=~((A | B) & C & D)
AOI221 10 A,B,C,D,E    Y=~((A & B) | (C & D) | E)
OAI221 10 A,B,C,D,E    Y=~((A | B) & (C | D) & E)
XOR2   10 A,B          Y=(A & ~B) | (~A & B)
XNOR2  10 A,B          Y=(A & B) | (~A & ~B)
MUXI2  10 A,B,S        Y=~((S & B) | (~S & A))
MUX2   12 A,B,S        Y=(S & B) | (~S & A)
MAJI3  10 A,B,C        Y=~((A & B) | (A & C) | (B & C))
MAJ3   12 A,B,C        Y=(A & B) | (A & C) | (B & C)
HA     14 A,B          S=A ^ B; CO=A & B
FA     28 A,B,CI       S=A ^ B ^ CI; CO=(A & B) | (A & CI) | (B & CI)
"""

# How the open libraries build the cells that are not one inverting gate: XOR2 as NOR2 + AOI21 and
# XNOR2 as NAND2 + OAI21 (sky130hd, Nangate45, IHP, gf180mcu), the half adder sharing its NAND2,
# the 28-transistor mirror full adder. Two transistors for each pin of a network.
CMOS_STRUCTURES = """
BUF    N=~A; Y=~N
AND2   N=~(A & B); Y=~N
OR2    N=~(A | B); Y=~N
NAND2B AN=~A; Y=~(AN & B)
NOR2B  AN=~A; Y=~(AN | B)
AND3   N=~(A & B & C); Y=~N
OR3    N=~(A | B | C); Y=~N
AND4   N=~(A & B & C & D); Y=~N
OR4    N=~(A | B | C | D); Y=~N
AO21   N=~((A & B) | C); Y=~N
OA21   N=~((A | B) & C); Y=~N
AO22   N=~((A & B) | (C & D)); Y=~N
OA22   N=~((A | B) & (C | D)); Y=~N
XOR2   N=~(A | B); Y=~((A & B) | N)
XNOR2  N=~(A & B); Y=~((A | B) & N)
MUXI2  SN=~S; Y=~((S & B) | (SN & A))
MUX2   SN=~S; N=~((S & B) | (SN & A)); Y=~N
MAJI3  Y=~((A & B) | (C & (A | B)))
MAJ3   N=~((A & B) | (C & (A | B))); Y=~N
HA     N=~(A & B); CO=~N; SN=~((A | B) & N); S=~SN
FA     N=~((A & B) | (CI & (A | B))); CO=~N; SN=~((A & B & CI) | (N & (A | B | CI))); S=~SN
"""

CMOS2_CELLS = """
NOT  2 A   Y=~A
NAND 4 A,B Y=~(A & B)
NOR  4 A,B Y=~(A | B)
"""

# Nangate Open Cell Library, 45 nm, 2010 release by Si2 (Apache-2.0), typical corner (1.1 V, 25 C):
# functions and areas of its Liberty file, transistors of its SPICE netlists, the smallest drive
# of each function. The half adder builds its two gates apart.
NANGATE45_CELLS = """
INV_X1    2,0.532  A                 ZN=~A
BUF_X1    4,0.798  A                 Z=A
NAND2_X1  4,0.798  A1,A2             ZN=~(A1 & A2)
NAND3_X1  6,1.064  A1,A2,A3          ZN=~(A1 & A2 & A3)
NAND4_X1  8,1.33   A1,A2,A3,A4       ZN=~(A1 & A2 & A3 & A4)
NOR2_X1   4,0.798  A1,A2             ZN=~(A1 | A2)
NOR3_X1   6,1.064  A1,A2,A3          ZN=~(A1 | A2 | A3)
NOR4_X1   8,1.33   A1,A2,A3,A4       ZN=~(A1 | A2 | A3 | A4)
AND2_X1   6,1.064  A1,A2             ZN=A1 & A2
AND3_X1   8,1.33   A1,A2,A3          ZN=A1 & A2 & A3
AND4_X1   10,1.596 A1,A2,A3,A4       ZN=A1 & A2 & A3 & A4
OR2_X1    6,1.064  A1,A2             ZN=A1 | A2
OR3_X1    8,1.33   A1,A2,A3          ZN=A1 | A2 | A3
OR4_X1    10,1.596 A1,A2,A3,A4       ZN=A1 | A2 | A3 | A4
AOI21_X1  6,1.064  A,B1,B2           ZN=~(A | (B1 & B2))
AOI22_X1  8,1.33   A1,A2,B1,B2       ZN=~((A1 & A2) | (B1 & B2))
AOI211_X1 8,1.33   A,B,C1,C2         ZN=~((C1 & C2) | B | A)
AOI221_X1 10,1.596 A,B1,B2,C1,C2     ZN=~((C1 & C2) | A | (B1 & B2))
AOI222_X1 12,2.128 A1,A2,B1,B2,C1,C2 ZN=~((A1 & A2) | (B1 & B2) | (C1 & C2))
OAI21_X1  6,1.064  A,B1,B2           ZN=~(A & (B1 | B2))
OAI22_X1  8,1.33   A1,A2,B1,B2       ZN=~((A1 | A2) & (B1 | B2))
OAI211_X1 8,1.33   A,B,C1,C2         ZN=~((C1 | C2) & A & B)
OAI221_X1 10,1.596 A,B1,B2,C1,C2     ZN=~((C1 | C2) & A & (B1 | B2))
OAI222_X1 12,2.128 A1,A2,B1,B2,C1,C2 ZN=~((A1 | A2) & (B1 | B2) & (C1 | C2))
OAI33_X1  12,1.862 A1,A2,A3,B1,B2,B3 ZN=~((A1 | A2 | A3) & (B1 | B2 | B3))
XOR2_X1   10,1.596 A,B               Z=(A & ~B) | (~A & B)
XNOR2_X1  10,1.596 A,B               ZN=(A & B) | (~A & ~B)
MUX2_X1   12,1.862 A,B,S             Z=(S & B) | (~S & A)
HA_X1     16,2.66  A,B               S=A ^ B; CO=A & B
FA_X1     28,4.256 A,B,CI            S=A ^ B ^ CI; CO=(A & B) | (A & CI) | (B & CI)
"""

NANGATE45_STRUCTURES = """
BUF_X1   N=~A; Z=~N
AND2_X1  N=~(A1 & A2); ZN=~N
AND3_X1  N=~(A1 & A2 & A3); ZN=~N
AND4_X1  N=~(A1 & A2 & A3 & A4); ZN=~N
OR2_X1   N=~(A1 | A2); ZN=~N
OR3_X1   N=~(A1 | A2 | A3); ZN=~N
OR4_X1   N=~(A1 | A2 | A3 | A4); ZN=~N
XOR2_X1  N=~(A | B); Z=~((A & B) | N)
XNOR2_X1 N=~(A & B); ZN=~((A | B) & N)
MUX2_X1  SN=~S; N=~((S & B) | (SN & A)); Z=~N
HA_X1    M=~(A & B); CO=~M; N=~(A | B); S=~((A & B) | N)
FA_X1    N=~((A & B) | (CI & (A | B))); CO=~N; SN=~((A & B & CI) | (N & (A | B | CI))); S=~SN
"""
