"""Tables of cells: facts alone, as text that ``hw.technology`` reads.

A line of a table of cells is ``NAME transistors inputs output=function[; output=function]``; a
table of structures has a line ``NAME stages`` for each cell of more than one inverting stage.
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
